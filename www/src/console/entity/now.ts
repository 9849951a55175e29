// The time, for views that show how far away something is.

import { useEffect, useState } from "preact/hooks";

/** What the clock of this browser reads, each second; it rests while nobody looks. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
