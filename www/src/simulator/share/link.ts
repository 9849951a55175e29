// A simulation in the fragment of a link: deflated JSON in base64url. It never leaves the browser of who opens it.

import type { Scenario } from "statewright";

import { isObject } from "../../parts/json-value.ts";
import { type Content, definitionsOf, jsonOf, MOST_TEXT, scenarioOf, Unreadable } from "./content.ts";

/** How many characters a link may have before mail and chat programs begin to cut it. */
export const FITS_EVERYWHERE = 8000;
/** How many it may have at most; more is a file. */
export const MOST_LINK = 64_000;

/** The form of a payload; a later form gets another letter. */
const FORM = "1";

/** The payload of a link to what is given. */
export async function encode(content: Content): Promise<string> {
  const { definitions, scenario, subject } = content;
  const named = scenario !== undefined && JSON.stringify(scenario.machines) === JSON.stringify(definitions);
  const text = JSON.stringify({ definitions: named ? undefined : definitions, scenario, subject });
  if (text.length > MOST_TEXT) throw new Unreadable("There is more than a link can hold");
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  return FORM + base64Of(bytes);
}

/**
 * What a payload tells. Anything may stand in it.
 *
 * @throws {Unreadable} It is cut off, made by hand, or more than is read.
 */
export async function decode(payload: string): Promise<Content> {
  if (payload === "") throw new Unreadable("The link is empty");
  if (!payload.startsWith(FORM))
    throw new Unreadable("The link is of another version, or no link to a simulation");
  if (payload.length > MOST_TEXT) throw new Unreadable("The link is longer than what is read");
  const value = jsonOf(await unpacked(bytesOf(payload.slice(FORM.length))));
  if (!isObject(value)) throw new Unreadable("The link holds no simulation");
  const scenario: Scenario | undefined =
    value["scenario"] === undefined ? undefined : scenarioOf(value["scenario"]);
  const definitions = definitionsOf(value["definitions"] ?? scenario?.machines, "the link");
  const subject = subjectOf(value["subject"]);
  return {
    definitions,
    ...(scenario === undefined ? {} : { scenario }),
    ...(subject === undefined ? {} : { subject }),
  };
}

function subjectOf(value: unknown): Content["subject"] {
  if (!isObject(value)) return undefined;
  const { machine_id, entity_id } = value;
  return typeof machine_id === "string" && typeof entity_id === "string"
    ? { machine_id, entity_id }
    : undefined;
}

/** Inflates as far as is read at most: a few bytes can hold gigabytes. */
async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let [text, length] = ["", 0];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      length += value.byteLength;
      if (length > MOST_TEXT) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    throw new Unreadable("The link is damaged: a part of it may have been cut off");
  }
  await reader.cancel();
  throw new Unreadable("The link holds more than 2 MB, which is more than is read");
}

function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[\w-]*$/.test(text)) throw new Unreadable("The link is damaged: it has characters that no link has");
  try {
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) =>
      letter.charCodeAt(0),
    );
  } catch {
    throw new Unreadable("The link is damaged: a part of it may have been cut off");
  }
}
