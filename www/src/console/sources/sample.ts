// A request that a provider might send to a source: what its scheme has, with something at each place that its mapping reads. Pure.

import type { Source } from "statewright/client";

/** A request to try. */
export interface Sample {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: unknown;
}

/** A body in the making. Maps, since a place may have any name. */
type Branch = Map<string, Branch | string | number>;

/** Where something stands in a request. */
type Place =
  | { readonly is: "pointer"; readonly pointer: string }
  | { readonly is: "header"; readonly name: string }
  | { readonly is: "text"; readonly pointers: readonly string[] };

function own(object: unknown, key: string): unknown {
  if (typeof object !== "object" || object === null) return undefined;
  return Object.entries(object).find(([name]) => name === key)?.[1];
}

/** What a mapping names as a place; undefined where it names none, or a constant. */
function placeOf(value: unknown): Place | undefined {
  if (typeof value === "string") {
    if (value.startsWith("/")) return { is: "pointer", pointer: value };
    const pointers = [...value.matchAll(/\{(\/[^{}]*)\}/g)].flatMap(([, pointer]) => pointer ?? []);
    return { is: "text", pointers };
  }
  const header = own(value, "header");
  return typeof header === "string" ? { is: "header", name: header.toLowerCase() } : undefined;
}

/** A request in the making. */
class Making {
  readonly headers = new Map<string, string>();
  readonly #body: Branch = new Map();

  put(place: Place | undefined, value: string | number): void {
    if (place === undefined) return;
    if (place.is === "header") this.headers.set(place.name, String(value));
    else if (place.is === "pointer") this.at(place.pointer, value);
    // Its parts are told apart by where they come from.
    else for (const pointer of place.pointers) this.at(pointer, lastOf(pointer));
  }

  /** Puts a value where a pointer leads, unless something is there already. */
  at(pointer: string, value: string | number): void {
    const keys = keysOf(pointer);
    const last = keys.pop();
    if (last === undefined) return;
    let branch = this.#body;
    for (const key of keys) {
      const next = branch.get(key) ?? new Map<string, Branch | string | number>();
      // A place within what is a text already leads to nothing.
      if (!(next instanceof Map)) return;
      branch.set(key, next);
      branch = next;
    }
    if (!branch.has(last)) branch.set(last, value);
  }

  get body(): unknown {
    return jsonOf(this.#body);
  }
}

function keysOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function lastOf(pointer: string): string | number {
  const last = keysOf(pointer).at(-1) ?? "";
  return guess(last, "example");
}

/** A value for a name: a number where it sounds like one. */
function guess(name: string, other: string): string | number {
  return /amount|total|price|count|quantity|number|size/i.test(name) ? 25 : other;
}

function jsonOf(of: Branch | string | number): unknown {
  if (!(of instanceof Map)) return of;
  const isList = of.size > 0 && [...of.keys()].every((key, at) => key === String(at));
  if (isList) return [...of.values()].map(jsonOf);
  // Its own properties, whatever they are called.
  return Object.fromEntries([...of].map(([key, value]) => [key, jsonOf(value)]));
}

const NAMES: ReadonlyMap<string, string> = new Map([
  ["github", "issues.opened"],
  ["stripe", "payment_intent.succeeded"],
  ["slack", "app_mention"],
]);

/** What the provider calls an event that the machine takes; or any, where it is not known what it takes. */
function eventOf(mapping: unknown, scheme: string, events: readonly string[]): string {
  const rename = own(mapping, "rename");
  const renamed = typeof rename === "object" && rename !== null ? Object.entries(rename) : [];
  const taken = renamed.find(([, to]) => typeof to === "string" && events.includes(to)) ?? renamed[0];
  if (taken !== undefined) return taken[0];
  const prefix = own(mapping, "prefix");
  const start = typeof prefix === "string" ? prefix : "";
  const event = events.find((name) => name.startsWith(start) && name !== start);
  return event === undefined ? (NAMES.get(scheme) ?? "example.happened") : event.slice(start.length);
}

/**
 * A request for a source.
 *
 * @param events what its machine takes, where that is known.
 * @param now what it is dated at, where it has a time; in milliseconds.
 */
export function sampleOf(source: Source, events: readonly string[], now: number): Sample {
  const { mapping } = source;
  const scheme = source.scheme.type;
  const making = new Making();
  const seconds = Math.floor(now / 1000);
  const event = eventOf(mapping, scheme, events);
  const type = own(mapping, "event_type");
  const identity = placeOf(own(mapping, "identity"));

  if (scheme === "slack") making.at("/type", "event_callback");
  if (type !== undefined) making.put(placeOf(type), event);
  else named(making, scheme, event);
  making.put(placeOf(own(mapping, "entity_id")), "example-1");
  if (identity !== undefined) making.put(identity, "delivery-1");
  else delivered(making, scheme);
  making.put(placeOf(own(mapping, "timestamp")), seconds);
  const params = own(mapping, "params");
  if (typeof params === "object" && params !== null) {
    for (const [name, place] of Object.entries(params)) making.put(placeOf(place), guess(name, "example"));
  }
  return { headers: making.headers, body: making.body };
}

/** The event's name where the scheme has it. */
function named(making: Making, scheme: string, event: string): void {
  if (scheme === "github") {
    const [header = event, ...action] = event.split(".");
    making.headers.set("x-github-event", header);
    if (action.length > 0) making.at("/action", action.join("."));
  } else {
    making.at(scheme === "slack" ? "/event/type" : "/type", event);
  }
}

/** The delivery's name where the scheme has it. */
function delivered(making: Making, scheme: string): void {
  if (scheme === "github") making.headers.set("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958");
  else if (scheme === "stripe") making.at("/id", "evt_1");
  else if (scheme === "slack") making.at("/event_id", "Ev1");
  else if (scheme === "standard-webhooks") making.headers.set("webhook-id", "msg_1");
}
