import { type ComponentType, type JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { messageOf } from "./failure.tsx";
import { Boundary } from "./boundary.tsx";
import { Button } from "./button.tsx";

/** A view that is loaded when it is first shown. A load that fails can be tried again. */
export function Lazy({ load, name }: { load: () => Promise<ComponentType>; name: string }): JSX.Element {
  const [view, setView] = useState<{ View?: ComponentType; failed?: string }>({});
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let gone = false;
    load().then(
      (View) => !gone && setView({ View }),
      (error: unknown) => !gone && setView({ failed: messageOf(error) }),
    );
    return () => {
      gone = true;
    };
  }, [tries]);
  const { View, failed } = view;
  if (View !== undefined) {
    return (
      <Boundary name={name}>
        <View />
      </Boundary>
    );
  }
  if (failed === undefined) return <p class="loading">Loading {name}…</p>;
  return (
    <div class="notice notice-error" role="alert">
      <p>
        Could not load {name}: {failed}
      </p>
      <Button onClick={() => (setView({}), setTries(tries + 1))}>Try again</Button>
    </div>
  );
}
