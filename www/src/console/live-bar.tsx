import { Pause, Play, RefreshCw } from "lucide";
import type { JSX } from "preact";

import { IconButton } from "../parts/button.tsx";
import { codeOf } from "../parts/failure.tsx";
import { span } from "../parts/time.tsx";
import type { Connection } from "./service.ts";
import { paused, readings, refreshAll, setPaused } from "./live.ts";

/** A service's host and path, without the scheme. */
export function hostOf({ url }: Connection): string {
  return url.replace(/^https?:\/\//, "").replace(/\/$/, "");
}

function clockTime(at: number): string {
  return new Date(at).toISOString().slice(11, 19);
}

/** When what is shown was read, and whether it goes on; all live views of the page together. */
export function LiveBar({ at }: { at: Connection }): JSX.Element {
  const shown = [...readings.value].map((each) => each.shown.value);
  const ats = shown.flatMap(({ at }) => at ?? []);
  const failed = shown.find(({ error }) => error !== undefined);
  const wait = Math.min(...shown.map((each) => each.wait));
  const state = paused.value ? "paused" : failed !== undefined ? "failing" : "live";
  const code = codeOf(failed?.error) ?? "no code";
  const text = {
    paused: "Paused",
    failing: `${code}: tries again in ${span(failed?.wait ?? 0)}`,
    live: `Live, every ${span(Math.round(wait / 1000) * 1000)}`,
  }[state];
  return (
    <div class="con-live" role="group" aria-label="Live refresh">
      {/* Where there is no room beside the view; it is read out from there. */}
      <span class="con-live-tenant" aria-hidden="true" title={`${at.tenant} at ${at.url}`}>
        {at.tenant} <span class="muted">at {hostOf(at)}</span>
      </span>
      {/* Read out only when it turns: the waits change with every read. */}
      <span class="only-read" role="status">
        {{ paused: "Live refresh is paused", failing: `Reading fails: ${code}`, live: "" }[state]}
      </span>
      {shown.length > 0 && (
        <>
          <span class={`con-live-state con-live-${state}`}>{text}</span>
          {ats.length > 0 && <span class="con-live-at">Read at {clockTime(Math.min(...ats))} UTC</span>}
          <IconButton
            icon={paused.value ? Play : Pause}
            label={paused.value ? "Resume live refresh" : "Pause live refresh"}
            onClick={() => setPaused(!paused.value)}
          />
          <IconButton icon={RefreshCw} label="Refresh now" onClick={refreshAll} />
        </>
      )}
    </div>
  );
}
