import "./clock.css";

import { CalendarClock, FastForward, Pause, Play } from "lucide";
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";

import { Button, IconButton } from "../parts/button.tsx";
import { Dialog } from "../parts/overlays.tsx";
import { moment, span } from "../parts/time.tsx";
import { TextField } from "../parts/field.tsx";
import { type Runner, SPEEDS } from "./clock-run.ts";
import { momentOf, spanOf } from "./clock-time.ts";
import type { Model, View } from "./model.ts";

const STEPS: readonly (readonly [label: string, milliseconds: number])[] = [
  ["1 s", 1000],
  ["1 min", 60_000],
  ["1 h", 3_600_000],
  ["1 day", 86_400_000],
];

/** What time it is, what is due next, and how the clock goes on. */
export function Clock({ model, runner }: { model: Model; runner: Runner }): JSX.Element {
  const view = model.view.value;
  const now = view?.now ?? 0;
  const running = runner.running.value;
  const [setting, setSetting] = useState(false);
  return (
    <section class="sim-clock" aria-label="Clock">
      <h2 class="only-read">Clock</h2>
      <div class="sim-clock-line">
        <time class="sim-clock-now" dateTime={isoOf(now)} aria-label={`It is ${moment(now)} UTC`}>
          {moment(now)} <span class="muted">UTC</span>
        </time>
        <IconButton icon={CalendarClock} label="Set the clock" onClick={() => setSetting(true)} />
      </div>
      <p class="sim-clock-due">{view === undefined ? "" : <Due view={view} />}</p>
      <div class="sim-clock-line">
        <Button icon={running ? Pause : Play} onClick={() => runner.toggle()}>
          {running ? "Pause" : "Run"}
        </Button>
        <Speed runner={runner} />
        <Button
          icon={FastForward}
          disabled={view?.due === undefined}
          title="Turns the clock to the timer that is due first, and fires it"
          onClick={() => runner.jump()}
        >
          Next timer
        </Button>
      </div>
      <div class="sim-clock-steps" role="group" aria-label="Step the clock by">
        {STEPS.map(([label, by]) => (
          <button
            key={label}
            type="button"
            class="sim-clock-step"
            aria-label={`Step ${label}`}
            onClick={() => runner.turnTo(now + by)}
          >
            +{label}
          </button>
        ))}
        <Own runner={runner} now={now} />
      </div>
      <p class="sim-clock-note" role="status">
        {runner.stopped.value}
      </p>
      {setting && <SetClock runner={runner} now={now} onClose={() => setSetting(false)} />}
    </section>
  );
}

function isoOf(at: number): string | undefined {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function Due({ view }: { view: View }): JSX.Element {
  const { due, now } = view;
  if (due === undefined) return <>No timer is armed.</>;
  const left = due.at <= now ? "now" : `in ${span(due.at - now)}`;
  return (
    <>
      Next {left}: the timer of <strong>{due.state}</strong> ({due.entity_id})
    </>
  );
}

function Speed({ runner }: { runner: Runner }): JSX.Element {
  const id = useId();
  return (
    <>
      <label class="only-read" for={id}>
        Speed
      </label>
      <select
        id={id}
        class="sim-clock-speed"
        value={String(runner.speed.value)}
        onChange={({ currentTarget }) => (runner.speed.value = Number(currentTarget.value))}
      >
        {SPEEDS.map((speed) => (
          <option key={speed} value={String(speed)}>
            {speed.toLocaleString("en-GB")}×
          </option>
        ))}
      </select>
    </>
  );
}

/** A step of one's own length. */
function Own({ runner, now }: { runner: Runner; now: number }): JSX.Element {
  const [text, setText] = useState("");
  const by = spanOf(text);
  const isOdd = text.trim() !== "" && by === undefined;
  return (
    <form
      class="sim-clock-own"
      onSubmit={(event) => {
        event.preventDefault();
        if (by !== undefined) runner.turnTo(now + by);
      }}
    >
      <input
        type="text"
        aria-label="Step by, such as 2 h 30 min"
        placeholder="2 h 30 min"
        value={text}
        aria-invalid={isOdd}
        autoComplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit" class="sim-clock-step" aria-disabled={by === undefined}>
        Step
      </button>
    </form>
  );
}

function SetClock({
  runner,
  now,
  onClose,
}: {
  runner: Runner;
  now: number;
  onClose: () => void;
}): JSX.Element {
  const [text, setText] = useState(() => moment(now));
  const to = momentOf(text);
  const problem =
    to === undefined
      ? "A date and time such as 2026-01-31 12:00:00."
      : to < now
        ? "The clock does not go back. Undo does."
        : undefined;
  return (
    <Dialog title="Set the clock" onClose={onClose}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (to === undefined || problem !== undefined) return;
          runner.turnTo(to);
          onClose();
        }}
      >
        <TextField
          label="Date and time (UTC)"
          value={text}
          onInput={setText}
          problem={problem}
          hint="Timers that are due by then fire, in order."
        />
        <div class="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={problem !== undefined}>
            Set
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
