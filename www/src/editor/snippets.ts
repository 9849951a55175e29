// What is put in for a key or a value: with places to fill in, in the form of CodeMirror's snippets.

import { formsOf, isOf, type Schema } from "./schema.ts";

/** A name as JSON, in a snippet, where braces have a meaning. */
export function quoted(name: string): string {
  return JSON.stringify(name).replaceAll(/[{}]/g, "\\$&");
}

/** The value of a key, with the cursor where something is to be written. */
export function valueSnippet(schema: Schema): string {
  const forms = formsOf(schema);
  const [form] = forms;
  if (form === undefined || forms.length > 1)
    return forms.every(isText) && form !== undefined ? '"${}"' : "${}";
  return formSnippet(form);
}

/** One form of a value: of an object, what it has to have. */
export function formSnippet(form: Schema): string {
  if (form.const !== undefined) return quoted(form.const);
  if (isText(form)) return '"${}"';
  if (isOf(form, "array")) return "[${}]";
  if (!isOf(form, "object")) return "${}";
  const required =
    form.required ?? form.oneOf?.find((choice) => choice.required !== undefined)?.required ?? [];
  const { properties = {} } = form;
  const inner = required.map((key) => {
    const property = properties[key];
    return `${quoted(key)}: ${property === undefined ? "${}" : valueSnippet(property)}`;
  });
  return inner.length === 0 ? "{ ${} }" : `{ ${inner.join(", ")} }`;
}

/** A form in a few words, by what it has to have: `{ field, op, value }`. */
export function formLabel(form: Schema): string {
  const required = form.required ?? form.oneOf?.flatMap((choice) => choice.required ?? []).slice(0, 1) ?? [];
  const kind = form.properties?.["type"]?.const;
  const keys = required.map((key) => (key === "type" && kind !== undefined ? `type: ${kind}` : key));
  return keys.length === 0 ? "{ }" : `{ ${keys.join(", ")} }`;
}

/** What kind of value it is, in a word. */
export function kindOf(schema: Schema): string {
  const [form] = formsOf(schema);
  if (form === undefined) return "";
  if (isText(form)) return "text";
  if (isOf(form, "array")) return "list";
  if (isOf(form, "object")) return "object";
  if (isOf(form, "boolean")) return "true or false";
  return isOf(form, "integer") ? "number" : "";
}

function isText(form: Schema): boolean {
  return isOf(form, "string") || form.enum !== undefined;
}
