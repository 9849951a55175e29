import { type ComponentType, createElement, type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { Boundary } from "../parts/boundary.tsx";
import { Button } from "../parts/button.tsx";
import { Failure } from "../parts/failure.tsx";

/** A view whose code is loaded when it is first shown, and then stays: it takes its props as if it had been there. */
export function lazyView<Props extends object>(
  name: string,
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => JSX.Element {
  let loaded: ComponentType<Props> | undefined;
  return function LazyView(props: Props): JSX.Element {
    const [failed, setFailed] = useState<unknown>();
    const [tries, setTries] = useState(0);
    const [, setReady] = useState(loaded !== undefined);
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (view) => {
          loaded = view;
          setReady(true);
        },
        (error: unknown) => setFailed(error),
      );
    }, [tries]);
    if (loaded !== undefined) return <Boundary name={name}>{createElement(loaded, props)}</Boundary>;
    if (failed === undefined) return <p class="loading">Loading {name}…</p>;
    return (
      <div class="stack">
        <Failure error={failed} what={`Could not load ${name}`} />
        <div class="row">
          <Button
            onClick={() => {
              setFailed(undefined);
              setTries(tries + 1);
            }}
          >
            Try again
          </Button>
        </div>
      </div>
    );
  };
}
