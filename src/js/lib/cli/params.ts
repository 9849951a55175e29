// Events and params as they are typed.

import { isObject } from "../json-value.ts";
import { jsonOf } from "./files.ts";
import { Refusal } from "./refusal.ts";

/** A word, and what stands after it. */
export function split(line: string): [word: string, rest: string] {
  const match = /^(\S+)\s*([^]*)$/.exec(line.trim());
  return [match?.[1] ?? "", match?.[2] ?? ""];
}

/** A word that gives a param its value, which may have spaces in quotes. */
const WORD = /[^\s="']+=(?:"[^"]*"|'[^']*'|\S*)/g;

/** Params as they are typed: a JSON object, or `name=value` words, where a value that is no JSON is text. */
export function paramsOf(text: string): Record<string, unknown> {
  if (text.trim() === "") return {};
  if (text.trimStart().startsWith("{")) {
    const { value } = jsonOf("params", text.trim());
    if (isObject(value)) return value;
  }
  const params: Record<string, unknown> = {};
  for (const [word] of text.matchAll(WORD)) {
    const at = word.indexOf("=");
    const value = word.slice(at + 1).replace(/^'([^]*)'$/, '"$1"');
    try {
      params[word.slice(0, at)] = JSON.parse(value);
    } catch {
      params[word.slice(0, at)] = value;
    }
  }
  const left = text.replaceAll(WORD, "").trim();
  if (left !== "") throw new Refusal(`\`${left}\` is no param; write name=value, or a JSON object`);
  return params;
}
