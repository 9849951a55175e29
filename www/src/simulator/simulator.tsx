import "./simulator.css";

import { CircleHelp } from "lucide";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

import { route } from "../app/route.ts";
import { handover } from "../console/fork/handover.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { Failure } from "../parts/failure.tsx";
import { loadWasm } from "../wasm/load.ts";
import { Clock } from "./clock.tsx";
import { Runner } from "./clock-run.ts";
import { DefinitionPane, type Revealed } from "./definition-pane.tsx";
import { DiagramPane, placeIn } from "./diagram-pane.tsx";
import { EventsPane } from "./events.tsx";
import { EVENTS_HEAD } from "./events-event.tsx";
import { type PaneName, Panes } from "./layout-panes.tsx";
import { restoreSizes } from "./layout-sizes.ts";
import { Model } from "./model.ts";
import { forget, named, type Unopened } from "./opening.ts";
import { Panels } from "./panels/panels.tsx";
import { isChanged, replaceWith } from "./share/replace.ts";
import { Toolbar } from "./share/toolbar.tsx";
import { ShortcutsDialog, useShortcuts } from "./shortcuts.tsx";
import { SubjectPane } from "./subject.tsx";

interface Running {
  readonly model: Model;
  readonly runner: Runner;
}

/** It stays while the console is looked at. */
let kept: Running | undefined;
/** Why what the address named when it began could not be opened. */
let unopened: Unopened | undefined;

async function begin(): Promise<Running> {
  const [first] = await Promise.all([kept === undefined ? named(route.value) : undefined, loadWasm()]);
  if (kept !== undefined) return kept;
  restoreSizes();
  const model = new Model(first?.content);
  const error = first?.error ?? takenFailure(model);
  if (first !== undefined && error !== undefined) unopened = { what: first.what, error };
  kept = { model, runner: new Runner(model) };
  // What was done is in memory alone.
  addEventListener("beforeunload", (event) => {
    if (kept?.model === model && isChanged(model)) event.preventDefault();
  });
  return kept;
}

// A fork goes with the tenant that it is of: what began then begins anew.
handover.subscribe((fork) => {
  if (fork !== undefined) return;
  forget();
  if (kept?.model.fork.peek() === undefined) return;
  kept.runner.pause();
  kept = undefined;
});

/** The failure of a load, which is told once. */
function takenFailure(model: Model): unknown {
  const { value } = model.failure;
  model.failure.value = undefined;
  return value;
}

/** Opens what the route names, if it names anything new. What was done here is not lost unasked. */
async function open(model: Model, at: readonly string[]): Promise<Unopened | undefined> {
  const next = await named(at);
  if (next === undefined) return undefined;
  const { content, what, error } = next;
  if (content === undefined) return { what, error };
  try {
    if (!(await replaceWith(model, content, next.name))) forget();
    return undefined;
  } catch (failed) {
    return { what, error: failed };
  }
}

/** The simulator: it begins when its WebAssembly is there. */
export function Simulator(): JSX.Element {
  const [running, setRunning] = useState(kept);
  const [failed, setFailed] = useState<unknown>();
  const [tries, setTries] = useState(0);
  useEffect(() => {
    setFailed(undefined);
    begin().then(setRunning, setFailed);
  }, [tries]);
  if (running !== undefined) return <Workbench {...running} />;
  if (failed === undefined) return <p class="loading">Loading the simulator…</p>;
  return (
    <div class="sim-failed">
      <Failure error={failed} what="The simulator could not be loaded." />
      <Button onClick={() => setTries(tries + 1)}>Try again</Button>
    </div>
  );
}

function Workbench({ model, runner }: Running): JSX.Element {
  const [shown, setShown] = useState<PaneName>("events");
  const [helps, setHelps] = useState(false);
  const [reveal, setReveal] = useState<Revealed>();
  const [failed, setFailed] = useState(unopened);
  const at = route.value;
  useEffect(() => {
    const first = unopened;
    unopened = undefined;
    void open(model, at).then((next) => setFailed(next ?? first));
  }, [at]);
  // What nobody sees does not go on.
  useEffect(() => () => runner.pause(), []);
  const undo = () => {
    runner.pause();
    model.undo();
  };
  const redo = () => {
    runner.pause();
    model.redo();
  };
  useShortcuts({
    undo,
    redo,
    run: () => runner.toggle(),
    jump: () => runner.jump(),
    events: () => {
      setShown("events");
      if (!focusEvents()) requestAnimationFrame(focusEvents);
    },
    help: () => setHelps(true),
  });
  return (
    <div class="sim">
      <h1 class="only-read">Simulator</h1>
      <div class="sim-bar">
        <Toolbar model={model} />
        <IconButton icon={CircleHelp} label="Keyboard shortcuts" onClick={() => setHelps(true)} />
      </div>
      <Banners model={model} unopened={failed} onDismiss={() => setFailed(undefined)} />
      <Panes
        shown={shown}
        onShow={setShown}
        definition={<DefinitionPane model={model} reveal={reveal} />}
        diagram={
          <DiagramPane
            model={model}
            onState={(place) => {
              const found = placeIn(model, place);
              if (found === undefined) return;
              model.selected.value = found.key;
              setShown("definition");
              setReveal(found);
            }}
          />
        }
        history={<Panels model={model} />}
        events={
          <>
            <SubjectPane model={model} running={runner.running.value} onUndo={undo} onRedo={redo} />
            <Clock model={model} runner={runner} />
            <EventsPane model={model} />
          </>
        }
      />
      {helps && <ShortcutsDialog onClose={() => setHelps(false)} />}
    </div>
  );
}

/** Leads the keyboard to the events; whether they are shown already. */
function focusEvents(): boolean {
  const head = document.getElementById(EVENTS_HEAD);
  head?.focus();
  return head !== null && document.activeElement === head;
}

interface BannersProps {
  readonly model: Model;
  /** Why the address could not be opened. */
  readonly unopened: Unopened | undefined;
  readonly onDismiss: () => void;
}

function Banners({ model, unopened, onDismiss }: BannersProps): JSX.Element {
  const fork = model.fork.value;
  return (
    <>
      {fork !== undefined && (
        <p class="sim-banner sim-banner-fork" role="note">
          A fork of <strong>{fork}</strong>: no effects are sent, and the entity itself stays as it is.
        </p>
      )}
      {unopened !== undefined && (
        <div class="sim-banner">
          <Failure {...unopened} />
          <Button onClick={onDismiss}>Dismiss</Button>
        </div>
      )}
    </>
  );
}
