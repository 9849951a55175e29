import type { IconNode } from "lucide";
import { CircleOff, CornerDownRight, GitMerge, ListChecks, Moon, Sunrise, Timer } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { JsonDefinition, SimulatedRow } from "statewright";

import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { moment } from "../../parts/time.tsx";
import type { StepView, Subject } from "../model.ts";
import { nameOf } from "./forest.ts";
import { causeOf, paramsOf, type RowCause, stepWords } from "./history-words.ts";
import { short, shortJson, stateText } from "./short.ts";

const ICONS: Readonly<Record<RowCause["kind"], IconNode>> = {
  event: CornerDownRight,
  timeout: Timer,
  join: GitMerge,
  completed: ListChecks,
  cancelled: CircleOff,
  resumed: Sunrise,
  other: Moon,
};

/** How many rows of a step are drawn at first, and at most: a commit can have thousands. */
const ROWS = 50;
const MOST_ROWS = 2000;

interface HistoryStepProps {
  readonly step: StepView;
  /** Whether it is the last that is done. */
  readonly now: boolean;
  /** The entity whose rows alone are shown. */
  readonly only: string | undefined;
  readonly subject: Subject | undefined;
  readonly definitions: readonly JsonDefinition[];
  readonly onGo: () => void;
}

/** A step, and under it the rows that its commits wrote. */
export function HistoryStep({ step, now, only, subject, definitions, onGo }: HistoryStepProps): JSX.Element {
  const { verb, name, rest } = stepWords(step);
  const params = paramsOf(step);
  const [all, setAll] = useState(false);
  const rows = only === undefined ? step.rows : step.rows.filter((row) => nameOf(row) === only);
  return (
    <li class={step.done ? "sim-past" : "sim-past sim-past-undone"}>
      <button
        type="button"
        class="sim-past-head"
        aria-current={now ? "step" : undefined}
        tabIndex={now ? 0 : -1}
        title={now ? "This is what stands" : step.done ? "Undo all that came after" : "Redo up to here"}
        onClick={onGo}
      >
        <span class="sim-past-words">
          {verb} {name !== undefined && <b title={short(name, 500)}>{short(name)}</b>}{" "}
          {rest !== undefined && short(rest)}
        </span>
        {params !== undefined && (
          <code class="sim-past-params" title={shortJson(params, 1000)}>
            {shortJson(params)}
          </code>
        )}
        <Mark step={step} now={now} />
        <span class="sim-past-at">{moment(step.at)}</span>
      </button>
      {step.reason !== undefined && step.rows.length === 0 && (
        <p class="sim-past-reason" title={short(step.reason, 1000)}>
          {short(step.reason, 200)}
        </p>
      )}
      {rows.length > 0 && (
        <ul class="sim-rows" aria-label="Rows of its commits">
          {rows.slice(0, all ? MOST_ROWS : ROWS).map((row) => (
            <Row
              key={row.id}
              row={row}
              dated={step.op === "adopt"}
              sent={params}
              subject={subject}
              definitions={definitions}
            />
          ))}
          {rows.length > ROWS && !all && (
            <li class="sim-row">
              <Button onClick={() => setAll(true)}>Show {rows.length - ROWS} more rows</Button>
            </li>
          )}
          {all && rows.length > MOST_ROWS && <li class="muted">and {rows.length - MOST_ROWS} more</li>}
        </ul>
      )}
    </li>
  );
}

function Mark({ step, now }: { step: StepView; now: boolean }): JSX.Element | null {
  const { done, status, op, rows } = step;
  return (
    <span class="sim-past-marks">
      {status >= 300 && <span class="badge badge-bad">refused, {status}</span>}
      {status < 300 && rows.length === 0 && (op === "transition" || op === "evaluate") && (
        <span class="badge badge-warn">moved nothing</span>
      )}
      {!done && <span class="badge">undone</span>}
      {now && <span class="badge badge-live">now</span>}
    </span>
  );
}

interface RowProps {
  readonly row: SimulatedRow;
  /** Whether it has a time of its own. */
  readonly dated: boolean;
  /** The params of the step, which need not be told again. */
  readonly sent: object | undefined;
  readonly subject: Subject | undefined;
  readonly definitions: readonly JsonDefinition[];
}

function Row({ row, dated, sent, subject, definitions }: RowProps): JSX.Element {
  const { kind, words } = causeOf(row, definitions);
  const own = subject !== undefined && nameOf(subject) === nameOf(row);
  const effects = row.actions_dispatched.length;
  const params = JSON.stringify(row.event_params);
  const told = params !== "{}" && params !== JSON.stringify(sent);
  return (
    <li class={`sim-row sim-row-${kind}`}>
      <Icon icon={ICONS[kind]} size={14} />
      <span class="sim-row-cause" title={short(words, 500)}>
        {short(words)}
      </span>
      <span class="sim-row-move">
        {row.region !== "_" && <span class="sim-row-region">{short(row.region, 60)}: </span>}
        {kind === "cancelled" ? (
          <>ended in {short(endedIn(row.to_state))}</>
        ) : (
          <Move from={row.from_state} to={row.to_state} />
        )}
      </span>
      {!own && (
        <span class="sim-row-entity" title={`${short(row.machine_id, 200)} ${short(row.entity_id, 500)}`}>
          {short(row.machine_id, 40)} {short(row.entity_id, 80)}
        </span>
      )}
      {told && (
        <code class="sim-past-params" title={short(params, 1000)}>
          {short(params)}
        </code>
      )}
      {effects > 0 && (
        <span class="badge">
          {effects} {effects === 1 ? "effect" : "effects"}
        </span>
      )}
      {dated && <span class="sim-past-at">{moment(row.timestamp)}</span>}
    </li>
  );
}

function Move({ from, to }: { from: string; to: string }): JSX.Element {
  return (
    <>
      {short(from, 60)} <span aria-label="to">→</span> {short(to, 60)}
    </>
  );
}

/** Where a cancelled entity was: of a parallel one, its regions stand in JSON. */
function endedIn(text: string): string {
  if (!text.startsWith("{")) return text;
  try {
    return stateText(JSON.parse(text));
  } catch {
    return text;
  }
}
