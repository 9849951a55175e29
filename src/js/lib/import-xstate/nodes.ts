// Reads an XState v5 config into state nodes: what is where, under which id, and what a target names.

import { StatewrightError } from "../errors.ts";
import { below, isObject } from "../json-value.ts";
import { type Notes, shown } from "./notes.ts";

/** How deep states may be nested in a config that is read at all; so one that holds itself is not read for ever. */
const DEEPEST = 64;

/** What kind of state a node is, as XState tells it. */
export type Kind = "atomic" | "compound" | "parallel" | "final" | "history";

/** One entry of `on`, `after`, `always` or `onDone`. */
export interface Candidate {
  /** Where it stands, as a JSON path. */
  readonly path: string;
  /** The node that declares it. */
  readonly source: Node;
  /** Its targets as they are written; none stays where it is. */
  readonly targets: readonly string[];
  readonly guard: unknown;
  readonly actions: readonly unknown[];
  readonly reenter: boolean;
  readonly description: string | undefined;
}

/** A state node. */
export interface Node {
  readonly key: string;
  /** Where it stands in the config, as a JSON path. */
  readonly path: string;
  /** The keys that lead to it from the root. */
  readonly keys: readonly string[];
  readonly id: string;
  readonly kind: Kind;
  readonly parent: Node | undefined;
  readonly children: Node[];
  readonly config: Readonly<Record<string, unknown>>;
  readonly on: ReadonlyMap<string, readonly Candidate[]>;
  readonly after: ReadonlyMap<string, readonly Candidate[]>;
  readonly always: readonly Candidate[];
  readonly onDone: readonly Candidate[];
}

/** How many bytes a name has at most. */
const LONGEST_NAME = 128;

/** Keys of a state node that are read somewhere, or have no meaning at run time. */
const KNOWN = new Set([
  "after",
  "always",
  "description",
  "entry",
  "exit",
  "history",
  "id",
  "initial",
  "invoke",
  "key",
  "meta",
  "on",
  "onDone",
  "order",
  "output",
  "states",
  "tags",
  "target",
  "type",
]);

/** Keys of a transition that made it conditional in XState v4. */
const OF_V4: ReadonlySet<string> = new Set(["cond", "in"]);

/** Those that only a root has. */
const KNOWN_OF_ROOT = new Set(["context", "schemas", "types", "version"]);

/** One value, or a list of them, as a list; nothing as an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

/** Why a value is no config. */
export function refusal(message: string): StatewrightError {
  const error = {
    code: "BAD_REQUEST",
    message: `no machine of XState v5: ${message}`,
    retry: false,
  } as const;
  return new StatewrightError(error, 400);
}

/** What is wrong with an option. */
export function wrongOption(name: string, value: unknown, expected: string): StatewrightError {
  const message = `${name}: it is ${shown(value)}; expected ${expected}`;
  return new StatewrightError({ code: "BAD_REQUEST", message, retry: false }, 400);
}

/** The nodes of a config, root first. */
export class Nodes {
  readonly root: Node;
  readonly all: Node[] = [];
  private readonly ids = new Map<string, Node>();
  private readonly notes: Notes;

  constructor(config: Readonly<Record<string, unknown>>, rootId: string, notes: Notes) {
    this.notes = notes;
    this.root = this.read(config, rootId, "$", [], undefined, rootId);
  }

  private read(
    config: Readonly<Record<string, unknown>>,
    key: string,
    path: string,
    keys: readonly string[],
    parent: Node | undefined,
    rootId: string,
  ): Node {
    const states = isObject(config["states"]) ? config["states"] : {};
    const node: Node = {
      key,
      path,
      keys,
      id: typeof config["id"] === "string" ? config["id"] : [rootId, ...keys].join("."),
      kind: kindOf(config, Object.keys(states).length > 0),
      parent,
      children: [],
      config,
      on: new Map(),
      after: new Map(),
      always: [],
      onDone: [],
    };
    this.all.push(node);
    if (keys.length > DEEPEST) throw refusal(`states lie more than ${DEEPEST} levels deep`);
    this.ids.set(node.id, node);
    const fault = nameFault(key);
    if (fault !== undefined && parent !== undefined) this.notes.add(path, `the name ${shown(key)}`, fault);
    for (const unknown of Object.keys(config)) {
      if (KNOWN.has(unknown) || (parent === undefined && KNOWN_OF_ROOT.has(unknown))) continue;
      this.notes.add(below(path, unknown), `\`${unknown}\``, "statewright has nothing that it could become");
    }
    Object.assign(node, {
      on: this.table(node, "on"),
      after: this.table(node, "after"),
      always: this.candidates(node, config["always"], below(path, "always")),
      onDone: this.candidates(node, config["onDone"], below(path, "onDone")),
    });
    const within = below(path, "states");
    for (const [name, child] of Object.entries(states)) {
      const read = this.read(
        isObject(child) ? child : {},
        name,
        below(within, name),
        [...keys, name],
        node,
        rootId,
      );
      node.children.push(read);
    }
    return node;
  }

  private table(node: Node, name: "on" | "after"): Map<string, Candidate[]> {
    const read = new Map<string, Candidate[]>();
    const value = node.config[name];
    const path = below(node.path, name);
    if (!isObject(value)) {
      if (value !== undefined) this.notes.add(path, shown(value), "an object of transitions is needed");
      return read;
    }
    for (const [key, entry] of Object.entries(value)) {
      // Nothing under an event is a transition too: the one that takes the event and does nothing.
      read.set(key, this.candidates(node, entry ?? {}, below(path, key)));
    }
    return read;
  }

  private candidates(source: Node, value: unknown, path: string): Candidate[] {
    const entries = Array.isArray(value) ? value : value === undefined ? [] : [value];
    return entries.flatMap((entry: unknown, index): Candidate[] => {
      const at = Array.isArray(value) ? below(path, index) : path;
      if (typeof entry !== "string" && !isObject(entry)) {
        this.notes.add(at, shown(entry), "a transition is a target or an object");
        return [];
      }
      const given: Record<string, unknown> = isObject(entry) ? entry : { target: entry };
      const targets = listOf(given["target"]).filter((target) => target !== null);
      const wrong = targets.find((target) => typeof target !== "string");
      if (wrong !== undefined) {
        this.notes.add(at, `transition to ${shown(wrong)}`, "a target is a text");
        return [];
      }
      for (const key of Object.keys(given)) {
        if (["target", "guard", "actions", "reenter", "description", "meta"].includes(key)) continue;
        const why = OF_V4.has(key)
          ? "it is a condition of XState v4; as `guard` it is carried over, and until then its transition is left out"
          : "it is no key of a transition of XState v5";
        this.notes.add(below(at, key), `\`${key}\``, why);
      }
      // Without its condition it would be taken more often than it was.
      if ([...OF_V4].some((key) => given[key] !== undefined)) return [];
      if (given["meta"] !== undefined) {
        this.notes.add(below(at, "meta"), "`meta` of a transition", "a transition has a `description` only");
      }
      return [
        {
          path: at,
          source,
          targets: targets.filter((target) => typeof target === "string"),
          guard: given["guard"],
          actions: listOf(given["actions"]),
          reenter: given["reenter"] === true,
          description: typeof given["description"] === "string" ? given["description"] : undefined,
        },
      ];
    });
  }

  /** The node that a target names, from the node that says it; undefined where there is none. */
  target(source: Node, target: string): Node | undefined {
    if (target.startsWith("#")) {
      const [id = "", ...rest] = segments(target.slice(1));
      const named = this.ids.get(id);
      return named === undefined ? undefined : step(named, rest);
    }
    if (target.startsWith(".")) return step(source, segments(target.slice(1)));
    return source.parent === undefined ? undefined : step(source.parent, segments(target));
  }

  /** The state that a compound node starts in. */
  initial(node: Node): Node | undefined {
    const { initial } = node.config;
    const name = isObject(initial) ? listOf(initial["target"])[0] : initial;
    return node.children.find(({ key }) => key === name);
  }
}

function kindOf(config: Readonly<Record<string, unknown>>, hasStates: boolean): Kind {
  const { type } = config;
  if (type === "parallel" || type === "final" || type === "history") return type;
  if (config["history"] !== undefined && config["history"] !== false) return "history";
  return hasStates ? "compound" : "atomic";
}

/** What keeps a text from being a name in a definition. */
export function nameFault(name: string): string | undefined {
  if (name === "") return "a name is not empty; the definition has a fault there";
  return new TextEncoder().encode(name).length > LONGEST_NAME
    ? `a name has at most ${LONGEST_NAME} bytes; the definition has a fault there`
    : undefined;
}

/** The keys of a path of states; a backslash takes a dot literally. */
function segments(path: string): string[] {
  return [...path.matchAll(/(?:\\.|[^.\\])+/gs)].map(([segment]) => segment.replaceAll(/\\(.)/gs, "$1"));
}

function step(node: Node, keys: readonly string[]): Node | undefined {
  let at: Node | undefined = node;
  for (const key of keys) at = at?.children.find((child) => child.key === key);
  return at;
}

/** Whether a node is below another. */
export function isBelow(node: Node, ancestor: Node): boolean {
  for (let at = node.parent; at !== undefined; at = at.parent) if (at === ancestor) return true;
  return false;
}
