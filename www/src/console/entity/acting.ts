// Something that the user has the service do: one at a time, and what was said against it.

import { useRef, useState } from "preact/hooks";

/** Whether it is under way, and why it failed. */
export interface Acting {
  readonly busy: boolean;
  readonly error: unknown;
  /** Does it, where nothing else is under way; what it throws is kept as `error`. */
  run(act: () => Promise<void>): void;
  forget(): void;
}

/** One thing at a time. */
export function useActing(): Acting {
  const [state, setState] = useState<{ busy: boolean; error: unknown }>({ busy: false, error: undefined });
  // A second click comes before the button is drawn anew.
  const under = useRef(false);
  const run = (act: () => Promise<void>): void => {
    if (under.current) return;
    under.current = true;
    setState({ busy: true, error: undefined });
    void act()
      .then(
        () => undefined,
        (error: unknown) => error,
      )
      .then((error) => {
        under.current = false;
        setState({ busy: false, error });
      });
  };
  return { ...state, run, forget: () => setState({ busy: false, error: undefined }) };
}
