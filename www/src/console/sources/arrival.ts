// Where the keyboard goes on when a new source is begun, or left: the path of the address stays, and with it the shell's view.

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** Gives a heading the focus when it comes, where what had it is gone. The heading needs a `tabIndex` of -1. */
export function useArrival(): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement | null>(null);
  useEffect(() => {
    if (document.activeElement === document.body) heading.current?.focus();
  }, []);
  return heading;
}
