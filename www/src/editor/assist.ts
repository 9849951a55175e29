// Completion and explanations by the schema of definitions.

import { jsonLanguage } from "@codemirror/lang-json";
import type { Extension } from "@codemirror/state";

import { completion } from "./complete.ts";
import { explaining } from "./hover.ts";

/** Completes and explains a machine's definition; `names` are the machines that there are. */
export function assist(names: () => readonly string[]): Extension {
  return [jsonLanguage.data.of({ autocomplete: completion(names) }), explaining];
}
