// What the simulator works on: the documents, the simulation that runs by them, and what is to be seen of it.

import { computed, effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type {
  AnyMachine,
  EventDetails,
  Explanation,
  JsonDefinition,
  Scenario,
  Simulation,
  TargetStep,
} from "statewright";

import { jsonText } from "../editor/format.ts";
import { EXAMPLES } from "../examples/index.ts";
import { type Doc, Documents, type Family, rootsOf } from "./model-documents.ts";
import { replayed } from "./model-replay.ts";
import { messageIn, Session } from "./model-session.ts";
import { keyOf, type Subject, type View } from "./model-view.ts";

export type { Doc } from "./model-documents.ts";
export type { StepView, Subject, View } from "./model-view.ts";

/** What a simulator is given to begin with. */
export interface Content {
  readonly definitions: readonly JsonDefinition[];
  readonly scenario?: Scenario | undefined;
  readonly subject?: Subject | undefined;
  /** What it is: of an example or a file. */
  readonly name?: string | undefined;
  /** Whether it is a live entity that was taken over: said above it, and never shared as it is by accident. */
  readonly fork?: boolean | undefined;
}

function lostText(count: number): string {
  return count === 1
    ? "1 step does not work with this definition and is left out."
    : `${count} steps do not work with this definition and are left out.`;
}

/** What is said of steps that move nothing any more. */
function stillText(count: number): string | undefined {
  if (count === 0) return undefined;
  return count === 1
    ? "1 step moves nothing with this definition."
    : `${count} steps move nothing with this definition.`;
}

/** Content of which it is known what is wrong with it. */
export interface Prepared {
  readonly documents: Documents;
  readonly family: Family;
}

/** An event as it is sent. */
export interface SentEvent extends EventDetails {
  readonly type: string;
  readonly params?: object;
  readonly target?: readonly TargetStep[];
}

/** After how many milliseconds without a key an edit is looked at. */
const PAUSE = 250;

const NEW_DEFINITION = {
  machine_id: "",
  states: ["start", "end"],
  initial_state: "start",
  transitions: [{ from: "start", to: "end", on: "finish" }],
};

/** Runs what can wait when the page has nothing else to do; gives what forgets it. */
function later(what: () => void): () => void {
  let idle: number | undefined;
  const timer = setTimeout(() => {
    if (typeof requestIdleCallback === "function") idle = requestIdleCallback(what, { timeout: 1000 });
    else what();
  }, PAUSE);
  return () => {
    clearTimeout(timer);
    if (idle !== undefined) cancelIdleCallback(idle);
  };
}

/** The simulator's state. One instance a page. */
export class Model {
  #documents = new Documents();
  readonly #docs = signal<readonly Doc[]>([]);
  readonly #version = signal(0);
  readonly #definitions = signal<readonly JsonDefinition[]>([]);
  readonly #stale = signal(false);
  readonly #fork = signal<string | undefined>(undefined);
  readonly #loaded = signal(0);
  #session: Session | undefined;
  /** The ids of the machines that the session runs, by document. */
  #ran: ReadonlyMap<number, string> = new Map();
  #keys = 0;
  #forget: (() => void) | undefined;
  /** The entity that was chosen, though it may not be there now: a redo brings it back. */
  #wanted: Subject | undefined;
  #fallback: Subject | undefined;

  /** The documents. */
  readonly docs: ReadonlySignal<readonly Doc[]> = this.#docs;
  /** The key of the document that is shown. */
  readonly selected: Signal<number> = signal(0);
  /** Of the running session: the last that were whole. */
  readonly definitions: ReadonlySignal<readonly JsonDefinition[]> = this.#definitions;
  /** Whether the documents have faults, so that the session is of those before. */
  readonly stale: ReadonlySignal<boolean> = this.#stale;
  /** The entity that is looked at. */
  readonly subject: Signal<Subject | undefined> = signal(undefined);
  /** What was refused last. */
  readonly failure: Signal<unknown> = signal(undefined);
  /** What a change did by itself, to be told. */
  readonly note: Signal<string | undefined> = signal(undefined);
  /** The live entity of which this is a fork. */
  readonly fork: ReadonlySignal<string | undefined> = this.#fork;
  /** How many loads there were. */
  readonly loaded: ReadonlySignal<number> = this.#loaded;
  /** The name of what was loaded. */
  readonly name: Signal<string | undefined> = signal(undefined);

  /** What is to be seen; read once a change. */
  readonly view: ReadonlySignal<View | undefined> = computed(() => {
    void this.#version.value;
    return this.#session?.view(this.subject.value);
  });

  /** Begins with content that is there already, or with the first example. */
  constructor(content?: Content) {
    effect(() => {
      const { value } = this.subject;
      if (value !== this.#fallback) this.#wanted = value;
    });
    const [example] = EXAMPLES;
    if (content !== undefined && this.load(content)) return;
    // What is wrong with the content is told after the example is there.
    const { value: failure } = this.failure;
    if (example === undefined) this.addDoc();
    else this.load(example);
    this.failure.value = failure;
  }

  /** Changes a document. What it means is looked at when the typing pauses. */
  setText(key: number, text: string): void {
    this.#docs.value = this.#docs.value.map((doc) => (doc.key === key ? { ...doc, text } : doc));
    this.#soon();
  }

  /** Adds a document, and shows it. */
  addDoc(text?: string): void {
    const key = (this.#keys += 1);
    const names = new Set(this.#docs.value.map(({ name }) => name));
    let count = 1;
    while (names.has(`machine-${count}`)) count += 1;
    const fresh = jsonText({ ...NEW_DEFINITION, machine_id: `machine-${count}` });
    const doc = { key, text: text ?? fresh, name: "untitled", problems: [], broken: false };
    this.#docs.value = [...this.#docs.value, doc];
    this.selected.value = key;
    this.settle();
  }

  /** Takes a document away; the last stays. */
  removeDoc(key: number): void {
    const docs = this.#docs.value;
    if (docs.length < 2) return;
    const at = docs.findIndex((doc) => doc.key === key);
    this.#docs.value = docs.filter((doc) => doc.key !== key);
    const next = this.#docs.value[Math.min(Math.max(at, 0), docs.length - 2)];
    if (this.selected.value === key && next !== undefined) this.selected.value = next.key;
    this.settle();
  }

  #soon(): void {
    this.#forget?.();
    this.#forget = later(() => this.settle());
  }

  /** Looks at the documents now, if an edit waits for it or not. */
  settle(): void {
    this.#forget?.();
    this.#forget = undefined;
    const { docs, machines } = this.#documents.check(this.#docs.value);
    this.#docs.value = docs;
    this.#stale.value = machines === undefined;
    if (machines !== undefined) this.#rebuild(machines, docs);
  }

  /** Plays what was done on machines that changed. */
  #rebuild(machines: readonly AnyMachine[], docs: readonly Doc[]): void {
    const old = this.#session;
    const text = (of: readonly { readonly definition: unknown }[]) => of.map(({ definition }) => definition);
    if (old !== undefined && JSON.stringify(text(machines)) === JSON.stringify(old.definitions)) return;
    const names = new Map<string, string>();
    for (const { key, name } of docs) {
      const ran = this.#ran.get(key);
      if (ran !== undefined && ran !== name) names.set(ran, name);
    }
    try {
      const { session, lost } = replayed(machines, old, names);
      const still = old === undefined || lost > 0 ? 0 : session.stillAgainst(old);
      if (session.view(undefined).entities.length === 0) this.#begin(session, machines);
      const wanted = this.#wanted;
      const renamed = wanted && {
        ...wanted,
        machine_id: names.get(wanted.machine_id) ?? wanted.machine_id,
      };
      this.#take(session, renamed, docs);
      this.failure.value = undefined;
      this.note.value = lost > 0 ? lostText(lost) : stillText(still);
    } catch (error) {
      this.failure.value = error;
    }
  }

  /** Makes an entity to begin with. */
  #begin(session: Session, machines: readonly AnyMachine[]): void {
    const [root] = rootsOf(machines.map(({ definition }) => definition as JsonDefinition));
    if (root === undefined) return;
    try {
      session.act((simulation) => simulation.create(root, `${root}-1`.slice(0, 128)));
    } catch {
      // Its first child can be one that nothing defines: there is no entity then, and its own try says why.
      session.undo();
    }
  }

  /** Goes on with a session. */
  #take(session: Session, subject: Subject | undefined, docs: readonly Doc[]): void {
    this.#ran = new Map(docs.map(({ key, name }) => [key, name]));
    this.#session?.free();
    this.#session = session;
    this.#fill(session);
    this.#definitions.value = session.definitions;
    this.#wanted = subject;
    this.#refresh();
  }

  /** Finds which rows the steps wrote that were loaded, a part at a time where there are many. */
  #fill(session: Session): void {
    if (this.#session !== session) return;
    if (session.goOn()) setTimeout(() => this.#fill(session));
    else this.#version.value += 1;
  }

  /** What stands has changed: it is read again, and where the chosen entity is gone, another is shown. */
  #refresh(): void {
    const names = new Set(this.#session?.simulation.entities().map(keyOf));
    const { value } = this.subject;
    const there = [this.#wanted, value].find((subject) => subject !== undefined && names.has(keyOf(subject)));
    const next = there ?? this.#session?.first();
    if (next === undefined || value === undefined || keyOf(next) !== keyOf(value)) {
      if (next !== this.#wanted) this.#fallback = next;
      this.subject.value = next;
    }
    this.#version.value += 1;
  }

  /** Does something in the session; whether it was done. What is refused is kept as `failure`. */
  act(what: (simulation: Simulation) => void): boolean {
    return this.#do((session) => session.act(what));
  }

  /** Turns the clock on; whether it got there: of timers without end it fires the first. */
  advance(to: number): boolean {
    let isThere = true;
    this.#do((session) => {
      isThere = session.advance(to);
    });
    return isThere;
  }

  /** Fires what is due by a time, so many timers at most, as one step that ends with the last of them. Gives how many. */
  fire(to: number, most: number): number {
    let fired = 0;
    this.#do((session) => {
      fired = session.fire(to, most);
    });
    return fired;
  }

  /** Why no entity of a machine can have an id; nothing where one can. */
  refusedId(machine_id: string, entity_id: string): string | undefined {
    const reply = this.#session?.simulation.perform("entity", { machine_id, entity_id });
    if (reply === undefined || reply.status === 404) return undefined;
    if (reply.status < 300) return `${machine_id} has an entity ${entity_id} already`;
    return messageIn(reply.body);
  }

  /** Does something instead of the last step: a clock that runs on is one step. */
  replaceLast(what: (simulation: Simulation) => void): boolean {
    return this.#do((session) => session.replaceLast(what));
  }

  #do(what: (session: Session) => void): boolean {
    const session = this.#session;
    if (session === undefined) return false;
    this.note.value = undefined;
    try {
      what(session);
      this.failure.value = undefined;
      return true;
    } catch (error) {
      this.failure.value = error;
      return false;
    } finally {
      this.#refresh();
    }
  }

  /** Why an event would, or would not, move the entity that is looked at. */
  why(event_type: string, params: object, target?: readonly TargetStep[]): Explanation {
    const { value } = this.subject;
    if (value === undefined) throw new Error("there is no entity");
    return this.explain(value, { type: event_type, params, ...(target === undefined ? {} : { target }) });
  }

  /** Why an event would, or would not, move an entity. */
  explain({ machine_id, entity_id }: Subject, event: SentEvent): Explanation {
    if (this.#session === undefined) throw new Error("there is no entity");
    return this.#session.simulation.why(machine_id, entity_id, event);
  }

  /** Looks at content that is to be loaded. Of a large definition that takes a while: the page can answer before the load. */
  prepare({ definitions }: Content): Prepared {
    const documents = new Documents();
    const docs = definitions.map((definition) => ({
      key: (this.#keys += 1),
      text: jsonText(definition),
    }));
    return { documents, family: documents.check(docs) };
  }

  /** Begins anew with definitions, and with the steps of a scenario; whether it did. What is wrong is kept as `failure`. */
  load(content: Content, prepared?: Prepared): boolean {
    const { scenario, subject, name, fork = false } = content;
    try {
      const { documents, family } = prepared ?? this.prepare(content);
      if (family.machines === undefined) {
        const { name: machine, problems } = family.docs.find((doc) => doc.problems.length > 0) ?? {};
        const [problem] = problems ?? [];
        throw new Error(
          problem === undefined ? "it has no machines" : `${machine} ${problem.path}: ${problem.message}`,
        );
      }
      const session = new Session(family.machines, scenario);
      if (session.done === 0 && scenario === undefined) this.#begin(session, family.machines);
      this.#documents = documents;
      this.#docs.value = family.docs;
      this.#stale.value = false;
      this.selected.value = family.docs[0]?.key ?? 0;
      this.name.value = name;
      this.#fork.value = fork ? (subject?.entity_id ?? name ?? "an entity") : undefined;
      this.note.value = undefined;
      this.failure.value = undefined;
      this.#take(session, subject, family.docs);
      this.#loaded.value += 1;
      return true;
    } catch (error) {
      this.failure.value = error;
      return false;
    }
  }

  /** What was done, as a scenario. */
  scenario(): Scenario {
    if (this.#session === undefined) throw new Error("there is nothing to save yet");
    return this.#session.simulation.export();
  }

  /** Undoes the last step, or all but so many. */
  undo(to?: number): void {
    this.#do((session) => session.undo(to));
  }

  /** Redoes the next step, or so many. */
  redo(to?: number): void {
    this.#do((session) => session.redo(to));
  }

  /** The machine that is looked at as Mermaid, with the current states marked. */
  mermaid(): string {
    const { value } = this.subject;
    if (this.#session === undefined || value === undefined) return "";
    return this.#session.simulation.diagram(value.machine_id, "mermaid", value.entity_id);
  }
}
