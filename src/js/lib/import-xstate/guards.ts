// Guards by name: what the table says of them, and what XState's own combinations of them become.

import type { Guard } from "../definition.ts";
import { isObject } from "../json-value.ts";
import { wrongOption } from "./nodes.ts";
import { type Notes, shown } from "./notes.ts";

/** What each guard of a config means, by its name; a function is asked with the guard's `params`. */
export type GuardTable = Readonly<Record<string, Guard | ((params: unknown) => Guard)>>;

/** A guard that could be carried over: none where it always passes. */
type Carried = { readonly guard: Guard | undefined };

/** A combination that XState's `and`, `or` or `not` made: a function that knows its members. */
interface Combination {
  readonly check: { readonly name: string };
  readonly guards?: readonly unknown[];
}

function isCombination(value: unknown): value is Combination {
  return typeof value === "function" && "check" in value && typeof value.check === "function";
}

/** What a guard of a config becomes; undefined, and a note, where it cannot be carried over. */
export function carryGuard(
  guard: unknown,
  table: GuardTable,
  path: string,
  notes: Notes,
): Carried | undefined {
  if (guard === undefined) return { guard: undefined };
  const named = nameOf(guard);
  if (named !== undefined) {
    const entry = Object.hasOwn(table, named.name) ? table[named.name] : undefined;
    if (entry !== undefined) return { guard: checked(named.name, entry, named.params) };
    const why = "the table of guards does not say what it means; without it, its transition is left out";
    notes.add(path, `guard \`${named.name}\``, why);
    return undefined;
  }
  if (isCombination(guard)) {
    const combined = combine(guard, table, path, notes);
    if (combined !== undefined) return { guard: combined };
    return undefined;
  }
  const why = "a function cannot be carried over; give it a name, and the table of guards its meaning";
  notes.add(path, `guard ${shown(guard)}`, why);
  return undefined;
}

/** A guard of the table: what it holds is the caller's, and may be anything. */
function checked(name: string, entry: GuardTable[string], params: unknown): Guard {
  const guard = typeof entry === "function" ? entry(params) : entry;
  if (isGuard(guard)) return guard;
  throw wrongOption(`guards.${name}`, guard, "a comparison, or `all` or `any` of guards");
}

function isGuard(value: unknown, depth = 0): value is Guard {
  if (!isObject(value) || depth > 32) return false;
  const members = value["all"] ?? value["any"];
  if (members !== undefined) return Array.isArray(members) && members.every((one) => isGuard(one, depth + 1));
  return typeof value["field"] === "string" && typeof value["op"] === "string" && "value" in value;
}

function nameOf(guard: unknown): { name: string; params: unknown } | undefined {
  if (typeof guard === "string") return { name: guard, params: undefined };
  if (isObject(guard) && typeof guard["type"] === "string") {
    return { name: guard["type"], params: guard["params"] };
  }
  return undefined;
}

function combine(guard: Combination, table: GuardTable, path: string, notes: Notes): Guard | undefined {
  const kind = { checkAnd: "all", checkOr: "any" }[guard.check.name];
  if (kind === undefined || guard.guards === undefined) {
    const what = { checkNot: "guard `not(…)`", checkStateIn: "guard `stateIn(…)`" }[guard.check.name];
    const why =
      guard.check.name === "checkStateIn"
        ? "guards see params and context only; what waits for the states of other regions is a join"
        : "guards have no negation; give the opposite a name of its own";
    notes.add(path, what ?? `guard ${shown(guard)}`, why);
    return undefined;
  }
  const members: Guard[] = [];
  for (const member of guard.guards) {
    const carried = carryGuard(member, table, path, notes);
    if (carried === undefined) return undefined;
    // XState's members always have a guard.
    if (carried.guard !== undefined) members.push(carried.guard);
  }
  return kind === "all" ? { all: members } : { any: members };
}

/** The guard that passes where both do. */
export function both(one: Guard | undefined, other: Guard | undefined): Guard | undefined {
  if (one === undefined) return other;
  if (other === undefined) return one;
  return { all: [...("all" in one ? one.all : [one]), ...("all" in other ? other.all : [other])] };
}
