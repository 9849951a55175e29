// What is written and sent nowhere yet: it is not lost unasked, whichever way the page is left.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { confirm } from "../parts/overlays.tsx";
import { holdRoute } from "./route.ts";

/**
 * Asks before the view is left, or the page, as long as something would be lost.
 *
 * @param body what is lost, and what is not.
 * @returns lets it go: what was written has been sent.
 */
export function useUnsaved(changed: boolean, body: ComponentChildren): () => void {
  const held = useRef<() => void>(undefined);
  useEffect(() => {
    if (!changed) return;
    const release = holdRoute(() =>
      confirm({ title: "Leave what you wrote?", body, action: "Drop it", danger: true }),
    );
    const stay = (event: Event) => event.preventDefault();
    addEventListener("beforeunload", stay);
    held.current = () => {
      release();
      removeEventListener("beforeunload", stay);
    };
    return held.current;
  }, [changed]);
  return () => held.current?.();
}
