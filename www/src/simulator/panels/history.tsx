import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Redo2, Undo2 } from "lucide";

import { Button } from "../../parts/button.tsx";
import { SelectField } from "../../parts/field.tsx";
import { memberOf } from "../../parts/json-value.ts";
import { moment } from "../../parts/time.tsx";
import type { Model, StepView } from "../model.ts";
import { nameOf } from "./forest.ts";
import { HistoryStep } from "./history-step.tsx";

/** How many steps are drawn at first. */
const SHOWN = 100;
const ALL = "";

/** What was done, step by step, each with the rows of its commit. A step is gone to by a click or by Enter. */
export function HistoryPanel({ model }: { model: Model }): JSX.Element {
  const view = model.view.value;
  const [only, setOnly] = useState(ALL);
  const [more, setMore] = useState(0);
  const list = useRef<HTMLOListElement>(null);
  const done = view?.done ?? 0;
  const steps = view?.steps ?? [];

  // What stands is kept in sight, in the panel alone: the page does not move.
  useEffect(() => {
    const panel = list.current?.closest(".tabs-panel");
    const now = list.current?.querySelector('[aria-current="step"]')?.closest("li");
    if (panel == null || now == null) return;
    const bar = panel.querySelector(".sim-panel-bar")?.getBoundingClientRect().bottom ?? 0;
    const [outer, inner] = [panel.getBoundingClientRect(), now.getBoundingClientRect()];
    if (inner.bottom > outer.bottom) panel.scrollTop += inner.bottom - outer.bottom + 8;
    else if (inner.top < bar) panel.scrollTop -= bar - inner.top + 8;
  }, [done, steps.length]);

  const names = namesOf(steps);
  const chosen = names.has(only) ? only : ALL;
  const fitting = steps.filter((step) => chosen === ALL || concerns(step, chosen));
  // The present stays among what is drawn.
  const past = fitting.filter((step) => step.done).length;
  const from = Math.max(0, past - SHOWN - more);
  const drawn = fitting.slice(from, past + SHOWN);

  const goTo = (to: number) => (to < done ? model.undo(to) : to > done ? model.redo(to) : undefined);

  return (
    <div class="sim-history">
      <div class="sim-panel-bar">
        <Button icon={Undo2} disabled={done === 0} onClick={() => model.undo()}>
          Undo
        </Button>
        <Button icon={Redo2} disabled={done === steps.length} onClick={() => model.redo()}>
          Redo
        </Button>
        <span class="muted" role="status">
          {done} of {steps.length} {steps.length === 1 ? "step" : "steps"} done
        </span>
        {names.size > 1 && (
          <SelectField
            label="Entity"
            value={chosen}
            options={[
              { value: ALL, label: "All" },
              ...[...names].map(([value, label]) => ({ value, label })),
            ]}
            onSelect={setOnly}
          />
        )}
      </div>
      <ol class="sim-pasts" ref={list} onKeyDown={(event) => moveFocus(event, list.current)}>
        {from === 0 ? (
          <Beginning now={done === 0} onGo={() => goTo(0)} at={steps[0]?.at} />
        ) : (
          <li class="sim-past-more">
            <Button onClick={() => setMore(more + SHOWN)}>Show {Math.min(from, SHOWN)} earlier steps</Button>
          </li>
        )}
        {drawn.map((step) => (
          <HistoryStep
            key={step.index}
            step={step}
            now={step.index === done - 1}
            only={chosen === ALL ? undefined : chosen}
            subject={model.subject.value}
            definitions={model.definitions.value}
            onGo={() => goTo(step.index + 1)}
          />
        ))}
        {past + SHOWN < fitting.length && (
          <li class="sim-past-more muted">{fitting.length - past - SHOWN} more that are undone</li>
        )}
      </ol>
    </div>
  );
}

function Beginning({
  now,
  at,
  onGo,
}: {
  now: boolean;
  at: number | undefined;
  onGo: () => void;
}): JSX.Element {
  return (
    <li class="sim-past">
      <button
        type="button"
        class="sim-past-head"
        aria-current={now ? "step" : undefined}
        tabIndex={now ? 0 : -1}
        onClick={onGo}
      >
        <span class="sim-past-words">Beginning</span>
        {at !== undefined && <span class="sim-past-at">{moment(at)}</span>}
        {now && <span class="badge badge-live">now</span>}
      </button>
    </li>
  );
}

/** The arrow keys go from step to step; Enter, as of any button, goes there in time. */
function moveFocus(event: KeyboardEvent, list: HTMLOListElement | null): void {
  const heads = [...(list?.querySelectorAll<HTMLButtonElement>(".sim-past-head") ?? [])];
  const at = heads.findIndex((head) => head === event.target);
  if (at < 0) return;
  const to = new Map([
    ["ArrowDown", at + 1],
    ["ArrowUp", at - 1],
    ["Home", 0],
    ["End", heads.length - 1],
  ]).get(event.key);
  if (to === undefined) return;
  event.preventDefault();
  heads[to]?.focus();
}

/** The entities of all rows by a name of their own, each as it is shown. */
function namesOf(steps: readonly StepView[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { rows } of steps) {
    for (const row of rows) names.set(nameOf(row), `${row.machine_id} ${row.entity_id}`);
  }
  return names;
}

/** Whether a step wrote a row of an entity, or made it. */
function concerns({ rows, args }: StepView, name: string): boolean {
  if (rows.some((row) => nameOf(row) === name)) return true;
  const made = memberOf(args["body"], "entity_id");
  return JSON.stringify([args["machine_id"], args["entity_id"] ?? made]) === name;
}
