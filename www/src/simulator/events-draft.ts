// What is typed for the events, kept while they come and go.

import { type Signal, signal } from "@preact/signals";

import { BLANK, type Typed } from "./params-fields.ts";

/** What is typed for an event. */
export interface Draft {
  readonly typed: Typed;
  /** When it happened; now, where it is empty. */
  readonly timestamp: string;
  /** Which version it expects, if any. */
  readonly version: string;
}

const EMPTY: Draft = { typed: BLANK, timestamp: "", version: "" };

/** The drafts of a machine's events, whichever entity takes them. */
export class Drafts {
  readonly #drafts = new Map<string, Signal<Draft>>();

  /** What is typed for an event. */
  of(machine_id: string, event_type: string): Signal<Draft> {
    const key = JSON.stringify([machine_id, event_type]);
    const known = this.#drafts.get(key);
    if (known !== undefined) return known;
    const fresh = signal(EMPTY);
    this.#drafts.set(key, fresh);
    return fresh;
  }
}

/** A whole number from 0 on; undefined of an empty text, a problem of anything else. */
export function countOf(text: string): { readonly value?: number; readonly problem?: string } {
  if (text.trim() === "") return {};
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? { value } : { problem: "It is no whole number." };
}
