import { ArrowDown, ArrowUp } from "lucide";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { IconButton } from "../parts/button.tsx";
import { counted } from "../parts/counted.ts";
import { Failure } from "../parts/failure.tsx";
import type { ShownDiff } from "./diff-view.ts";
import "./diff.css";

interface DiffProps {
  readonly before: string;
  readonly after: string;
  readonly beforeLabel: string;
  readonly afterLabel: string;
}

/** From this width on the two texts stand side by side. */
const WIDE = 720;

/** What differs between two texts: side by side where there is room for that, otherwise in one. */
export function JsonDiff(props: DiffProps): JSX.Element {
  const { before, after, beforeLabel, afterLabel } = props;
  if (before === after) return <p class="empty">No difference</p>;
  // Another pair of texts is another view.
  return <Differing key={`${beforeLabel}\n${afterLabel}\n${before}\n${after}`} {...props} />;
}

function Differing({ before, after, beforeLabel, afterLabel }: DiffProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const shown = useRef<ShownDiff | undefined>(undefined);
  const [wide, setWide] = useState<boolean>();
  const [changes, setChanges] = useState<number>();
  const [at, setAt] = useState<number>();
  const [failed, setFailed] = useState<unknown>();

  useEffect(() => {
    const watched = box.current;
    if (watched === null) return;
    const observer = new ResizeObserver(() => setWide(watched.clientWidth >= WIDE));
    observer.observe(watched);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const parent = box.current;
    if (wide === undefined || parent === null) return;
    let gone = false;
    import("./diff-view.ts").then(({ showDiff }) => {
      if (gone) return;
      const made = showDiff(parent, { before, after, beforeLabel, afterLabel, wide });
      shown.current = made;
      setChanges(made.changes);
    }, setFailed);
    return () => {
      gone = true;
      shown.current?.destroy();
      shown.current = undefined;
    };
  }, [wide]);

  const go = (by: 1 | -1) => setAt(shown.current?.go(by));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "F7") return;
    event.preventDefault();
    go(event.shiftKey ? -1 : 1);
  };
  if (failed !== undefined) return <Failure error={failed} what="Could not show the difference" />;
  return (
    <section class="editor diff" aria-label={`${beforeLabel} and ${afterLabel}`} onKeyDown={onKeyDown}>
      <div class="diff-head">
        <div class="diff-labels">
          <span class="diff-label diff-before">{beforeLabel}</span>
          <span class="diff-label diff-after">{afterLabel}</span>
        </div>
        <p class="diff-count" role="status">
          {changes === undefined ? "Comparing…" : placeAmong(changes, at)}
        </p>
        <IconButton icon={ArrowUp} label="Previous change (Shift F7)" onClick={() => go(-1)} />
        <IconButton icon={ArrowDown} label="Next change (F7)" onClick={() => go(1)} />
      </div>
      <div class="diff-text" ref={box} />
    </section>
  );
}

function placeAmong(changes: number, at: number | undefined): string {
  return at === undefined ? counted(changes, "change") : `Change ${at + 1} of ${changes}`;
}
