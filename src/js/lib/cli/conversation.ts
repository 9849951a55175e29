// What is said to a simulation in a terminal: one line, one command.

import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

import { FLAT_REGION } from "../reserved.ts";
import type { Expected, FiredTimeout } from "../simulate.ts";
import type {
  Answer,
  ChildSnapshot,
  Explanation,
  HistoryRow,
  PossibleEvent,
  Snapshot,
  TargetStep,
  Timer,
} from "../typed.ts";
import { explained, shownState } from "./explained.ts";
import { writeText } from "./files.ts";
import { nearest } from "./nearest.ts";
import { paramsOf, split } from "./params.ts";
import { Refusal } from "./refusal.ts";
import { done, problemOf, type Reply, type Simulation } from "./simulation.ts";
import type { Output } from "./terminal.ts";
import { durationOf, shownDuration, shownTime, timeOf } from "./time.ts";

/** The entity that is spoken of. */
export interface Subject {
  readonly machine_id: string;
  readonly entity_id: string;
}

/** A command of the conversation. */
interface Verb {
  readonly form: string;
  readonly help: string;
  say(words: string): void;
}

/** Speaks with a simulation about one entity at a time. */
export class Conversation {
  /** Whether the last word was to end it. */
  isOver = false;
  private readonly simulation: Simulation;
  private readonly output: Output;
  private readonly cwd: string;
  private readonly start: number;
  private subject: Subject;

  constructor(simulation: Simulation, subject: Subject, output: Output, cwd: string) {
    this.simulation = simulation;
    this.subject = subject;
    this.output = output;
    this.cwd = cwd;
    this.start = simulation.now();
  }

  private readonly verbs: Readonly<Record<string, Verb>> = {
    events: {
      form: "events",
      help: "the events that can be sent now; `?` marks those that a guard decides",
      say: () => this.sayEvents(),
    },
    why: {
      form: "why <event> [params]",
      help: "what an event would do, and what stands in its way",
      say: (words) => this.sayWhy(words),
    },
    send: {
      form: "send <event> [params]",
      help: "sends an event, also one that is named like a command; `event@entity` sends it to a child",
      say: (words) => this.send(words),
    },
    state: { form: "state", help: "where the entity and its children are", say: () => this.sayState() },
    context: {
      form: "context",
      help: "the entity's context",
      say: () => this.output.json(this.entity().context),
    },
    due: { form: "due", help: "the timeout that comes next", say: () => this.sayDue() },
    advance: {
      form: "advance <10s|5m|1h30m|2d|due|time>",
      help: "turns the clock on; timeouts fire in order",
      say: (words) => this.advance(words),
    },
    history: { form: "history", help: "what happened to the entity", say: () => this.sayHistory() },
    effects: { form: "effects", help: "the actions that were called for", say: () => this.sayEffects() },
    undo: {
      form: "undo [n]",
      help: "takes the last step back, or the last n",
      say: (words) => this.go("undo", words),
    },
    redo: { form: "redo [n]", help: "does what was undone again", say: (words) => this.go("redo", words) },
    steps: { form: "steps", help: "what was done so far", say: () => this.saySteps() },
    new: {
      form: "new <machine> <entity> [context]",
      help: "makes another entity, and speaks of it from then on",
      say: (words) => this.make(words),
    },
    use: {
      form: "use <machine> <entity>",
      help: "speaks of another entity",
      say: (words) => this.use(words),
    },
    entities: { form: "entities", help: "all entities", say: () => this.sayEntities() },
    diagram: {
      form: "diagram [mermaid|dot]",
      help: "the machine, with the state marked",
      say: (words) => this.draw(words),
    },
    snapshot: {
      form: "snapshot",
      help: "the entity as JSON, with its children",
      say: () => this.output.json(this.entity()),
    },
    save: {
      form: "save <file>",
      help: "writes what was done as a scenario, for `statewright check`",
      say: (words) => this.save(words),
    },
    help: { form: "help", help: "this list", say: () => this.sayHelp() },
    quit: {
      form: "quit",
      help: "ends it; so does the end of the input",
      say: () => void (this.isOver = true),
    },
  };

  /** Where it stands, in a few words. */
  prompt(): string {
    const { style } = this.output;
    const passed = this.simulation.now() - this.start;
    const { machine_id: machine, entity_id: entity } = this.subject;
    const state = shownState(this.entity().current_state);
    return `${style.dim(`${machine} ${entity}`)} ${style.bold(state)} ${style.dim(`+${shownDuration(passed)}`)} > `;
  }

  /** What the word that is being typed may become: commands, events, and after some of them what they take. */
  completions(line: string): string[] {
    const words = line.split(/\s+/);
    const last = words.at(-1) ?? "";
    const first = words.length < 2 ? Object.keys(this.verbs) : [];
    const takesEvent = words.length < 2 || (words.length === 2 && ["why", "send"].includes(words[0] ?? ""));
    const events = takesEvent ? this.events().map(({ event_type }) => event_type) : [];
    return [...new Set([...events, ...first])].filter((word) => word.startsWith(last)).sort();
  }

  /** Takes a line. @throws Refusal where it is not understood, or not possible. */
  take(line: string): void {
    const text = line.trim();
    if (text === "" || text.startsWith("#")) return;
    const [word, rest] = split(text);
    const verb = Object.hasOwn(this.verbs, word) ? this.verbs[word] : undefined;
    // A machine may have an event of that name.
    if (word === "send" && !this.knows(rest.split(/[\s@]/)[0] ?? "") && this.knows(word))
      return this.send(text);
    if (verb !== undefined) return verb.say(rest);
    if (word === "exit") return void (this.isOver = true);
    if (!this.knows(word.split("@")[0] ?? word)) {
      const meant = nearest(word, [...Object.keys(this.verbs), ...this.alphabet()]);
      const hints = [
        meant === undefined
          ? "`help` lists the commands, `events` the events."
          : `Did you mean \`${meant}\`?`,
      ];
      throw new Refusal(`\`${word}\` is no command and no event of \`${this.subject.machine_id}\``, {
        hints,
      });
    }
    this.send(text);
  }

  /** Whether the entity is made, and not undone. */
  private isThere(): boolean {
    return this.simulation.perform("entity", this.subject).status < 300;
  }

  /** The entity with its children. */
  private entity(): Snapshot {
    return this.simulation.expect("tree", this.subject) as Snapshot;
  }

  private events(): readonly PossibleEvent[] {
    return this.simulation.expect("events", this.subject) as readonly PossibleEvent[];
  }

  /** The timer that is due first. */
  private due(): Timer | null {
    return this.simulation.expect("due") as Timer | null;
  }

  /** All events that a transition of some machine is on. */
  private alphabet(): Set<string> {
    const machines = this.simulation.expect("machines") as { transitions: { on: string }[] }[];
    return new Set(machines.flatMap(({ transitions }) => transitions.map(({ on }) => on)));
  }

  private knows(event: string): boolean {
    return this.alphabet().has(event);
  }

  /** The event of some words, and where it goes: to a child, where only a child can take it. */
  private addressed(words: string): {
    event: string;
    params: Record<string, unknown>;
    target?: readonly TargetStep[];
  } {
    const [word, rest] = split(words);
    if (word === "") throw new Refusal("an event is needed");
    const [event = "", ...behind] = word.split("@");
    const entity = behind.join("@");
    const params = paramsOf(rest);
    const takers = this.events().filter(({ event_type }) => event_type === event);
    if (entity !== "") {
      const taker = this.events().find(
        ({ entity_id }) => entity_id === entity || entity_id.endsWith(`::${entity}`),
      );
      if (taker === undefined) throw new Refusal(`no entity below takes events as \`${entity}\``);
      return { event, params, ...(taker.target === undefined ? {} : { target: taker.target }) };
    }
    if (
      takers.length === 0 ||
      takers.some(({ entity_id, forwarded }) => entity_id === this.subject.entity_id || forwarded)
    ) {
      return { event, params };
    }
    const targets = new Map(takers.map((taker) => [taker.entity_id, taker.target]));
    if (targets.size > 1) {
      const forms = [...targets.keys()].map((id) => `\`${event}@${id}\``).join(", ");
      throw new Refusal(`more than one child takes \`${event}\`; say which: ${forms}`);
    }
    const [target] = targets.values();
    return { event, params, ...(target === undefined ? {} : { target }) };
  }

  private send(words: string): void {
    const { event, params, target } = this.addressed(words);
    const body = { event_type: event, params, ...(target === undefined ? {} : { target }) };
    const reply = this.simulation.change("transition", { ...this.subject, body }, (came) =>
      this.expectation(came),
    );
    this.sayAnswer(done(reply) as Answer, words);
  }

  /** What came of an event, as a scenario expects it: the state is that of the entity, whoever took the event. */
  private expectation(reply: Reply): Expected {
    const problem = problemOf(reply);
    if (problem !== undefined) return { outcome: "refused", error: problem.code };
    const { transition, reason = "" } = reply.body as Answer;
    const state = this.entity().current_state;
    if (transition !== null) return { outcome: "applied", state };
    return { outcome: reason.startsWith("duplicate") ? "duplicate" : "no_transition", state };
  }

  private sayAnswer(answer: Answer, words: string): void {
    const { style } = this.output;
    const fired = answer.timeouts_fired ?? 0;
    if (fired > 0) this.output.line(`${fired} timeout${fired === 1 ? "" : "s"} came first`);
    if (answer.transition === null) {
      this.output.line(
        `${style.yellow(answer.reason ?? "no transition")}; \`why ${words.trim()}\` tells more`,
      );
      return;
    }
    this.output.line(`${style.green(answer.transition)}  (version ${answer.state_version})`);
    for (const join of answer.joins_fired ?? []) {
      this.output.line(`  join: ${join.target_region}: ${join.from_state} → ${join.target_state}`);
    }
    for (const life of answer.instances ?? []) {
      const moved =
        life.parent_to === undefined ? "" : `, ${life.parent.entity_id} goes to ${life.parent_to}`;
      this.output.line(`  child ${life.entity_id} (${life.machine_id}) ${life.kind}${moved}`);
    }
    for (const action of answer.actions_dispatched ?? []) {
      const what = action.url ?? action.event_type ?? action.machine_id ?? "";
      this.output.line(`  calls for: ${action.action_type} ${what}`);
    }
  }

  private sayEvents(): void {
    const events = this.events();
    if (events.length === 0) this.output.line("no event can be taken here");
    const own = this.subject.entity_id;
    for (const { event_type: event, label, guarded, entity_id: entity } of events) {
      const where = entity === own ? "" : `  (${entity})`;
      this.output.line(`${event}${guarded ? "?" : ""}  ${label}${where}`);
    }
  }

  private sayWhy(words: string): void {
    const { event, params, target } = this.addressed(words);
    const body = { event_type: event, params, ...(target === undefined ? {} : { target }) };
    const explanation = this.simulation.expect("explain", { ...this.subject, body }) as Explanation;
    for (const line of explained(explanation, this.output.style, this.simulation.now()))
      this.output.line(line);
  }

  private sayState(): void {
    const say = (snapshot: ChildSnapshot, depth: number): void => {
      const {
        machine_id: machine,
        entity_id: entity,
        current_state: state,
        state_version: version,
      } = snapshot;
      const { status = "active" } = snapshot.instance ?? {};
      const ended = status === "active" ? "" : `, ${status}`;
      this.output.line(
        `${"  ".repeat(depth)}${machine} ${entity}: ${shownState(state)} (version ${version}${ended})`,
      );
      for (const child of snapshot.children ?? []) say(child, depth + 1);
    };
    say(this.entity(), 0);
  }

  private sayDue(): void {
    const due = this.due();
    if (due === null) return this.output.line("no timeout is due");
    const { at, entity_id: entity, state } = due;
    this.output.line(
      `${entity} in ${state}: in ${shownDuration(at - this.simulation.now())}, at ${shownTime(at)}`,
    );
  }

  private advance(words: string): void {
    const [word] = split(words);
    const now = this.simulation.now();
    const to = this.timeOf(word, now);
    if (to < now) throw new Refusal(`the clock is at ${shownTime(now)} and does not go back; \`undo\` does`);
    const fired = done(this.simulation.change("advance", { to })) as {
      readonly timeouts: readonly FiredTimeout[];
    };
    this.output.line(`it is ${shownTime(to)}, ${shownDuration(to - now)} later`);
    for (const { entity_id: entity, region, from_state: from, to_state: to_, timestamp } of fired.timeouts) {
      const where = region === FLAT_REGION ? entity : `${entity} ${region}`;
      this.output.line(`  ${where}: ${from} → ${to_} at ${shownTime(timestamp)}`);
    }
  }

  private timeOf(word: string, now: number): number {
    if (word === "due" || word === "") {
      const due = this.due();
      if (due === null) throw new Refusal("no timeout is due; say how long, such as `advance 10m`");
      return Math.max(due.at, now);
    }
    const duration = durationOf(word);
    return duration === undefined ? timeOf("the time", word) : now + duration;
  }

  private sayHistory(): void {
    const rows = this.simulation.expect("history", { ...this.subject, order: "id" }) as HistoryRow[];
    if (rows.length === 0) this.output.line("nothing happened yet");
    for (const {
      region,
      from_state: from,
      to_state: to,
      event_type: event,
      event_params,
      timestamp,
    } of rows) {
      const where = region === FLAT_REGION ? "" : `${region}: `;
      const params = JSON.stringify(event_params);
      const given = params === "{}" ? "" : ` ${params}`;
      this.output.line(`${shownTime(timestamp)}  ${where}${from} → ${to}  ${event}${given}`);
    }
  }

  private sayEffects(): void {
    const effects = this.simulation.expect("effects") as unknown;
    if (Array.isArray(effects) && effects.length === 0) return this.output.line("no action was called for");
    this.output.json(effects);
  }

  private go(op: "undo" | "redo", words: string): void {
    const count = words.trim() === "" ? 1 : Number(words);
    if (!Number.isInteger(count) || count < 1) throw new Refusal(`\`${words}\` is no number of steps`);
    const { done: before } = this.simulation.steps();
    this.simulation.expect(op, { to: op === "undo" ? before - count : before + count });
    if (!this.isThere()) {
      this.simulation.expect("redo", { to: before });
      throw new Refusal(`that would take back \`${this.subject.entity_id}\` itself`);
    }
    const { done: after, steps } = this.simulation.steps();
    this.output.line(`${after} of ${steps.length} steps are done`);
  }

  private saySteps(): void {
    const { done, steps } = this.simulation.steps();
    steps.forEach(({ op, args }, index) => {
      const mark = index < done ? " " : "-";
      const { body, ...rest } = args as { body?: { event_type?: string; machine_id?: string } };
      const what = body?.event_type ?? body?.machine_id ?? "";
      const told = [op, what, ...Object.values(rest).map(String)].filter((text) => text !== "");
      this.output.line(`${mark} ${index + 1}  ${told.join(" ")}`);
    });
  }

  private make(words: string): void {
    const [machine, after] = split(words);
    const [entity, context] = split(after);
    if (entity === "")
      throw new Refusal("a machine and an id are needed: `new <machine> <entity> [context]`");
    const body = { entity_id: entity, context: paramsOf(context) };
    done(this.simulation.change("create", { machine_id: machine, body }));
    this.subject = { machine_id: machine, entity_id: entity };
    this.sayState();
  }

  private use(words: string): void {
    const [machine, after] = split(words);
    const [entity] = split(after);
    const subject = { machine_id: machine, entity_id: entity };
    this.simulation.expect("entity", subject);
    this.subject = subject;
    this.sayState();
  }

  private sayEntities(): void {
    const entities = this.simulation.expect("entities") as Snapshot[];
    for (const { machine_id: machine, entity_id: entity, current_state: state } of entities) {
      this.output.line(`${machine} ${entity}: ${shownState(state)}`);
    }
  }

  private draw(words: string): void {
    const [format] = split(words);
    const asked = { ...this.subject, format: format === "" ? "mermaid" : format };
    this.output.line(String(this.simulation.expect("diagram", asked)).trimEnd());
  }

  private save(words: string): void {
    const file = words.trim();
    if (file === "") throw new Refusal("a file is needed: `save <file>`");
    if (!this.mayWrite(file)) {
      throw new Refusal(`\`${file}\` is there and no scenario; it is not written over`);
    }
    writeText(file, JSON.stringify(this.simulation.scenario(), null, 2), { cwd: this.cwd });
    this.output.line(`written to ${file}; \`statewright check ${file}\` plays it`);
  }

  /** Whether there is no such file, or one that may have been saved before. */
  private mayWrite(file: string): boolean {
    const path = resolve(this.cwd, file);
    if (!existsSync(path)) return true;
    try {
      return "statewright" in (JSON.parse(readFileSync(path, "utf8")) as object);
    } catch {
      return false;
    }
  }

  private sayHelp(): void {
    const width = Math.max(...Object.values(this.verbs).map(({ form }) => form.length));
    const line = (form: string, help: string) => this.output.line(`  ${form.padEnd(width)}  ${help}`);
    line("<event> [params]", "sends an event; params are name=value words or a JSON object");
    for (const { form, help } of Object.values(this.verbs)) line(form, help);
  }
}
