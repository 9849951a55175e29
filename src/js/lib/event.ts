// Events as programs give them, and as the core and services read them.

import { onlyOf, textOf } from "./given.ts";
import { jsonText } from "./json.ts";
import { kindOf, wrong } from "./wrong.ts";

/** An event as `Machine.send` is given it. */
export interface Given {
  readonly type: string;
  readonly params?: object | undefined;
  readonly timestamp?: number | undefined;
  readonly expectedVersion?: number | undefined;
  readonly target?: readonly object[] | undefined;
}

/** What an event can say. */
const DETAILS: readonly string[] = ["type", "params", "timestamp", "expectedVersion", "target"];

/** An event as the core reads it. */
export function eventText(event: string | Given): string {
  if (typeof event === "string") return JSON.stringify({ event_type: textOf(event, "event") });
  if (typeof event !== "object" || event === null || Array.isArray(event)) {
    throw wrong("event", `it is ${kindOf(event)}`, "a type, or an object with `type`");
  }
  onlyOf(event, "event", DETAILS);
  const { type, params, timestamp, expectedVersion, target } = event;
  const event_type = textOf(type, "event.type");
  return jsonText({ event_type, params, timestamp, expected_version: expectedVersion, target }, "event");
}

/** The same as an object, apart from what was given. */
export function eventBody(event: string | Given): object {
  return JSON.parse(eventText(event)) as object;
}
