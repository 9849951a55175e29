// What would be sent, in words. An effect is JSON: an adopted one may lack anything.

import type { SimulatedEffect } from "statewright";

import { memberOf } from "../../parts/json-value.ts";

/** An effect as the panel shows it. */
interface EffectView {
  readonly kind: string;
  /** Where it would go. */
  readonly destination: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What it would say: text, or JSON. */
  readonly body: unknown;
  readonly signed: boolean;
}

/** What is to be seen of an effect. Of a secret, that is its name alone: the simulation has no other. */
export function effectView({ effect }: SimulatedEffect): EffectView {
  const { kind } = effect;
  const text = (key: string) => (typeof effect[key] === "string" ? effect[key] : undefined);
  const to = [text("machine_id"), text("entity_id")].filter((part) => part !== undefined).join(" ");
  switch (kind) {
    case "webhook":
      return {
        kind,
        destination: `${text("method") ?? "POST"} ${text("url") ?? "nowhere"}`,
        headers: headersOf(effect["headers"]),
        body: jsonIn(effect["body"]),
        signed: effect["signed"] !== false,
      };
    case "event":
      return {
        kind,
        destination: `${text("event_type") ?? "an event"} to the event collector`,
        headers: [],
        body: effect["params"],
        signed: false,
      };
    case "transition":
      return {
        kind,
        destination: `${text("event_type") ?? "an event"} to ${to}`,
        headers: [],
        body: effect["params"],
        signed: false,
      };
    default:
      return { kind, destination: text("problem") ?? "nowhere", headers: [], body: undefined, signed: false };
  }
}

function headersOf(headers: unknown): EffectView["headers"] {
  if (typeof headers !== "object" || headers === null) return [];
  return Object.entries(headers).map(([name, value]: [string, unknown]) => {
    if (typeof value === "string") return [name, value];
    if (typeof value !== "object" || value === null) return [name, JSON.stringify(value)];
    const [secret, prefix] = [memberOf(value, "secret"), memberOf(value, "prefix")];
    return [name, `${typeof prefix === "string" ? prefix : ""}{secret ${String(secret)}}`];
  });
}

/** A body is rendered text; where that is JSON, it is shown as such. */
function jsonIn(body: unknown): unknown {
  if (typeof body !== "string") return body;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** What became of an effect, in words. */
export function statusWords({ effect, status, outcome, error }: SimulatedEffect): string {
  if (effect.kind !== "transition") return status === "pending" ? "would be sent" : (error ?? status);
  switch (status) {
    case "pending":
      return "waits to be delivered";
    case "accepted":
      return `delivered: ${outcome ?? "accepted"}`;
    case "failed":
      return `a service would try again: ${error ?? "it failed"}`;
    case "dead":
      return `refused for good: ${error ?? "dead"}`;
  }
}
