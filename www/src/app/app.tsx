import type { JSX } from "preact";

import { Lazy } from "../parts/lazy.tsx";
import { Overlays } from "../parts/overlays.tsx";
import { Header } from "./header.tsx";
import { route } from "./route.ts";

const simulator = () => {
  // Fetched beside the view, which waits for it, and not after it. What fails is told by the view.
  void import("../wasm/load.ts").then(({ loadWasm }) => loadWasm()).catch(() => undefined);
  return import("../simulator/simulator.tsx").then(({ Simulator }) => Simulator);
};
const consoleView = () => import("../console/console.tsx").then(({ Console }) => Console);

/** The whole page: what is at the top, and the view that the route names. */
export function App(): JSX.Element {
  const inConsole = route.value[0] === "console";
  return (
    <>
      <a class="skip" href="#content" onClick={skipToContent}>
        Skip to content
      </a>
      <Header />
      <main id="content" tabIndex={-1}>
        {inConsole ? (
          <Lazy key="console" load={consoleView} name="the console" />
        ) : (
          <Lazy key="simulator" load={simulator} name="the simulator" />
        )}
      </main>
      <Overlays />
    </>
  );
}

/** The fragment is the route: the link must not change it. */
function skipToContent(event: Event): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}
