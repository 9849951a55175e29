import type { JSX } from "preact";

import { moment, span } from "../parts/time.tsx";

/** How long ago something was, in its largest unit: what is read again each few seconds must not dance. */
export function Ago({ at, now }: { at: number; now: number | undefined }): JSX.Element {
  const date = new Date(at);
  const iso = Number.isNaN(date.getTime()) ? undefined : date.toISOString();
  return (
    <time class="con-whole" dateTime={iso} title={`${moment(at)} UTC`}>
      {now === undefined ? moment(at) : agoText(now - at)}
    </time>
  );
}

function agoText(milliseconds: number): string {
  if (milliseconds < 1000) return "just now";
  const [count = "", unit = ""] = span(milliseconds).split(" ");
  return `${count} ${unit} ago`;
}
