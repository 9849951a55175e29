// The names that a definition has, read while it is written: states, regions, events, fields.

import { type Step, textOf } from "./place.ts";
import { type Frame, scan } from "./scan.ts";

/** A region with its states; a flat machine has one, without an id. */
interface Region {
  id: string | undefined;
  readonly states: Set<string>;
}

/** What a definition names. */
export class Names {
  private readonly regions = new Map<number, Region>();
  readonly events = new Set<string>();
  readonly fields = new Set<string>();
  /** States that transitions name, whether they are listed or not. */
  readonly used = new Set<string>();

  constructor(text: string) {
    scan(text, (token, open) => {
      const inner = open.at(-1);
      if (inner?.expects !== "value" || !token.text.startsWith('"') || open.length > 40) return undefined;
      this.take(textOf(token.text), open);
      return undefined;
    });
    for (const names of [this.events, this.fields, this.used]) names.delete("");
  }

  /** The ids of the regions. */
  get regionIds(): readonly string[] {
    return [...this.regions.values()].flatMap(({ id }) => (id === undefined || id === "" ? [] : [id]));
  }

  /** The states of the region of that id, or those of all. */
  statesOf(id: string | undefined): readonly string[] {
    const all = [...this.regions.values()];
    const found = id === undefined || id === "" ? all : all.filter((region) => region.id === id);
    return [...new Set(found.flatMap(({ states }) => [...states]))].filter((state) => state !== "");
  }

  /** The states of the region at that place in the list of regions. */
  statesAt(index: number): readonly string[] {
    return [...(this.regions.get(index)?.states ?? [])];
  }

  private region(index: number): Region {
    const region = this.regions.get(index) ?? { id: undefined, states: new Set<string>() };
    this.regions.set(index, region);
    return region;
  }

  private take(value: string, open: readonly Frame[]): void {
    const [root, list, item] = open;
    const key = open.at(-1)?.key;
    const depth = open.length;
    switch (root?.key) {
      case "states":
        if (depth === 2) this.region(FLAT).states.add(value);
        return;
      case "regions":
        if (depth === 3 && key === "id") this.region(list?.index ?? 0).id = value;
        if (depth === 4 && item?.key === "states") this.region(list?.index ?? 0).states.add(value);
        return;
      case "transitions":
        if (depth === 3 && (key === "from" || key === "to")) this.used.add(value);
        if (depth === 3 && key === "on") this.events.add(value);
        if (depth > 3 && key === "field") this.fields.add(value);
        return;
      case "broadcast":
        if (depth === 2) this.events.add(value);
        return;
      default:
    }
  }
}

/** Where a flat machine's states are kept: no region has this place. */
const FLAT = -1;

/** What is plain in the objects on the way to a place. */
type Members = readonly ReadonlyMap<string, string>[];

/** The names that can stand at a place: of a value, or of a key where the objects' keys are names. */
export function namesFor(
  path: readonly Step[],
  members: Members,
  names: Names,
  machines: readonly string[],
): readonly string[] {
  const [root, , third, fourth] = path;
  const last = path.at(-1);
  const said = (key: string) => members.at(-1)?.get(key);
  switch (root) {
    case "initial_state":
      return names.statesAt(FLAT);
    case "states":
      return [...names.used];
    case "transitions":
      if (last === "region" && path.length === 3) return names.regionIds;
      if ((last === "from" || last === "to") && path.length === 3) return names.statesOf(said("region"));
      if (last === "on" && path.length === 3) return [...names.events, "$timeout"];
      return last === "field" ? [...names.fields] : [];
    case "regions":
      if (third === "initial_state") return names.statesAt(Number(path[1]));
      if (third === "states") return [...names.used];
      return third === "sub_machines"
        ? ofChild(path.slice(3), names.statesAt(Number(path[1])), machines)
        : [];
    case "sub_machines":
      return ofChild(path.slice(1), names.statesAt(FLAT), machines);
    case "actions":
      if (last === "region" && path.length === 3) return names.regionIds;
      if (last === "on_enter" && path.length === 3) return names.statesOf(said("region"));
      return last === "machine_id" ? machines : [];
    case "joins":
      if (last === "target_region") return names.regionIds;
      if (last === "target_state") return names.statesOf(said("target_region"));
      if (third === "when") return typeof fourth === "string" ? names.statesOf(fourth) : names.regionIds;
      if (last === "region") return names.regionIds;
      if (last === "on_enter") return names.statesOf(said("region"));
      return last === "machine_id" ? machines : [];
    case "broadcast":
      return [...names.events].filter((event) => event !== "$timeout");
    default:
      return [];
  }
}

/** Within `sub_machines`: the keys are states, and what it leads to as well. */
function ofChild(
  path: readonly Step[],
  states: readonly string[],
  machines: readonly string[],
): readonly string[] {
  const [state, key, ...rest] = path;
  if (state === undefined) return states;
  if (key === "machine_id") return machines;
  if (key === "on_final") return rest.length === 1 ? states : [];
  if (key === "complete_when" && rest.at(-1) === "target") return states;
  return [];
}
