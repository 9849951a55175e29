// Definitions read for what is drawn of them. Anything may stand in them: what is of another form is passed over.

import type { JsonDefinition } from "statewright";

import { isObject } from "../parts/json-value.ts";

/** A region as it is written; of a flat machine the only one. */
export interface Region {
  readonly id: string;
  readonly description: string | undefined;
  readonly states: readonly string[];
  readonly initial: string | undefined;
  readonly children: ReadonlyMap<string, Declared>;
}

/** A child as it is declared. */
export interface Declared {
  readonly machine_id: string;
  readonly managed: boolean;
  readonly reentry: string | undefined;
  readonly ends: readonly { readonly text: string; readonly to: string }[];
}

/** The region that something names; `_` where it names none. */
export function regionName(region: string | null | undefined): string {
  return region ?? "_";
}

/** A place as the key of a set: no two places have the same. */
export function placeKey(region: string, state: string): string {
  return JSON.stringify([region, state]);
}

/** The regions of a definition. */
export function regionsOf(definition: JsonDefinition): readonly Region[] {
  if (Array.isArray(definition.regions)) {
    return definition.regions.map((region) => ({
      id: region.id,
      description: region.description ?? undefined,
      states: region.states,
      initial: region.initial_state,
      children: declaredOf(region.sub_machines),
    }));
  }
  return [
    {
      id: "_",
      description: undefined,
      states: definition.states ?? [],
      initial: definition.initial_state ?? undefined,
      children: declaredOf(definition.sub_machines),
    },
  ];
}

function declaredOf(subMachines: object | null | undefined): ReadonlyMap<string, Declared> {
  const declared = new Map<string, Declared>();
  for (const [state, sub] of entriesOf(subMachines)) {
    if (!isObject(sub)) continue;
    const { machine_id, lifecycle, reentry, on_final, complete_when } = sub;
    if (typeof machine_id !== "string") continue;
    declared.set(state, {
      machine_id,
      managed: lifecycle === "managed",
      reentry: typeof reentry === "string" ? reentry : undefined,
      ends: [...finals(on_final), ...rules(complete_when)],
    });
  }
  return declared;
}

/** What an object of JSON has; of anything else nothing. */
function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isObject(value) ? Object.entries(value) : [];
}

function* finals(onFinal: unknown): Iterable<{ text: string; to: string }> {
  for (const [state, to] of entriesOf(onFinal)) {
    if (typeof to === "string") yield { text: state, to };
  }
}

function* rules(completeWhen: unknown): Iterable<{ text: string; to: string }> {
  const listed: readonly unknown[] = Array.isArray(completeWhen) ? completeWhen : [];
  for (const rule of listed) {
    if (!isObject(rule)) continue;
    const { when, target } = rule;
    if (typeof target !== "string" || !isObject(when)) continue;
    const states = entriesOf(when).map(([region, state]) =>
      region === "_" ? String(state) : `${region} = ${String(state)}`,
    );
    yield { text: states.join(" and "), to: target };
  }
}

/** The places that a transition, a join or a child's end leads out of, to another. */
export function leavingOf(definition: JsonDefinition, regions: readonly Region[]): ReadonlySet<string> {
  const leaving = new Set<string>();
  for (const { region, from, to } of definition.transitions ?? []) {
    if (from !== to) leaving.add(placeKey(regionName(region), from));
  }
  for (const join of definition.joins ?? []) {
    const from = new Map(entriesOf(join.when)).get(join.target_region);
    if (typeof from === "string" && from !== join.target_state) {
      leaving.add(placeKey(join.target_region, from));
    }
  }
  for (const region of regions) {
    for (const [state, { ends }] of region.children) {
      if (ends.length > 0) leaving.add(placeKey(region.id, state));
    }
  }
  return leaving;
}

/** What entering a state calls for, a line each. */
export function actionsOf(definition: JsonDefinition, region: string, state: string): readonly string[] {
  return (definition.actions ?? [])
    .filter(
      ({ on_enter, region: of }) => on_enter === state && (of === undefined || of === null || of === region),
    )
    .map(({ action }) => actionText(action));
}

/** What an action does, in a line. */
export function actionText(action: unknown): string {
  if (!isObject(action)) return "an action";
  const { type, url, method, event_type, machine_id } = action;
  if (type === "webhook") return `webhook: ${String(method ?? "POST")} ${String(url)}`;
  if (type === "event") return `event: ${String(event_type)}`;
  if (type === "transition") return `event to ${String(machine_id)}: ${String(event_type)}`;
  return String(type);
}
