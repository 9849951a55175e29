// What the editor knows of a text, without a page: where paths lead, what is broken, what can stand where, and how it is laid out.

import assert from "node:assert/strict";
import { test } from "node:test";

import { parser } from "@lezer/json";

import { doubledMarks, problemMark, syntaxMarks } from "../../www/src/editor/faults.ts";
import { formatJson, jsonText } from "../../www/src/editor/format.ts";
import { Names, namesFor } from "../../www/src/editor/names.ts";
import { placeOf, Places, stepsOf } from "../../www/src/editor/place.ts";
import { cursorAt } from "../../www/src/editor/scan.ts";
import { formsOf, keysOf, schemasAt } from "../../www/src/editor/schema.ts";

const at = (text: string, path: string): string => {
  const { from, to } = placeOf(text, path);
  return text.slice(from, to);
};
const reading = (text: string) => (from: number, to: number) => text.slice(from, to);

test("a path leads to its value, and a missing one to what is there of it", () => {
  const text = `{ "a": [1, { "b c": "x", "__proto__": 2, "a": 3, "a": 4 }], "$": { "\\u0061b": null } }`;
  assert.equal(at(text, "$"), text);
  assert.equal(at(text, "$.a[0]"), "1");
  assert.equal(at(text, '$.a[1]["b c"]'), '"x"');
  assert.equal(at(text, "$.a[1].__proto__"), "2");
  assert.equal(at(text, "$.a[1].a"), "4", "of two keys the last one counts");
  assert.equal(at(text, '$["$"].ab'), "null", "a key is read as JSON reads it");
  assert.equal(at(text, "$.a[7]"), at(text, "$.a"));
  assert.equal(at(text, "$.toString"), text);
  assert.equal(at(text, "no path"), text);
  assert.equal(at("", "$.a"), "");
  assert.deepEqual(stepsOf(String.raw`$.a[2]["it\"s"].b`), ["a", 2, 'it"s', "b"]);
});

test("a text that is broken has its fault where it breaks", () => {
  const broken = (text: string) => {
    const tree = parser.parse(text);
    return syntaxMarks(tree, reading(text)).map(({ from, to, message }) => [text.slice(from, to), message]);
  };
  assert.deepEqual(broken('{ "a": 1 }'), []);
  assert.deepEqual(broken("  "), [["  ", "There is nothing here: a JSON object is needed"]]);
  assert.match(broken('{ "a": 1, }')[0]?.[1] ?? "", /comma too many/);
  assert.match(broken('{ "a": }')[0]?.[1] ?? "", /value is missing/);
  assert.match(broken("{ a: 1 }")[0]?.[1] ?? "", /`a` is no JSON/);
  assert.match(broken('{ "a" "b": 1 }')[0]?.[1] ?? "", /comma or a colon is missing/);
  assert.match(broken('{ "a": "b\n}')[0]?.[1] ?? "", /quote is missing/);
  assert.match(broken('{ "a": [1, 2')[0]?.[1] ?? "", /ends too early/);
  assert.ok(broken("]".repeat(10_000)).length <= 20);
});

test("keys that stand twice are warned of, each in its own object", () => {
  const text = '{ "a": { "b": 1, "b": 2 }, "b": 3, "__proto__": 1, "__proto__": 2, "constructor": 3 }';
  const marks = doubledMarks(parser.parse(text), reading(text));
  assert.deepEqual(
    marks.map(({ from, to }) => text.slice(from, to)),
    ['"b"', '"__proto__"'],
  );
});

test("a fault is marked at its value, at the key of a long one, and at a key that there is not", () => {
  const text = `{\n  "transitions": [\n    { "from": "a", "to": "b", "nope": 1 }\n  ]\n}`;
  const marked = (path: string) => {
    const { from, to } = problemMark(new Places(parser.parse(text), reading(text)), reading(text), {
      path,
      severity: "error",
      message: "",
    });
    return text.slice(from, to);
  };
  assert.equal(marked("$.transitions[0].to"), '"b"');
  assert.equal(marked("$.transitions[0].on"), '{ "from": "a", "to": "b", "nope": 1 }');
  assert.equal(marked("$.transitions[0].nope"), '"nope"');
  assert.equal(marked("$.transitions"), '"transitions"');
  assert.equal(marked("$"), "{");
});

test("a text that is being written says what is written in it", () => {
  const cursor = (marked: string) => {
    const place = marked.indexOf("|");
    return cursorAt(marked.replace("|", ""), place);
  };
  const key = cursor('{ "states": ["a"], "|" }');
  assert.deepEqual([key?.role, key?.path, key?.comma], ["key", [], undefined]);
  const value = cursor('{ "transitions": [{ "from": "a" }, { "on": "x", "to": "|');
  assert.deepEqual([value?.role, value?.path], ["value", ["transitions", 1, "to"]]);
  assert.equal(value?.members[2]?.get("on"), "x");
  const bare = cursor('{ "transitions": [{ fr| }] }');
  assert.deepEqual([bare?.role, bare?.path, bare?.token?.text], ["key", ["transitions", 0], "fr"]);
  const after = cursor('{ "a": 1\n  | }');
  assert.deepEqual([after?.role, after?.path, after?.comma], ["key", [], 8]);
  const item = cursor('{ "states": ["a" | ] }');
  assert.deepEqual([item?.role, item?.path], ["value", ["states", 1]]);
  const begun = cursor('{ "d|"\n "on": "x"\n "to": "y" }');
  assert.deepEqual(
    [...(begun?.members[0] ?? [])],
    [
      ["d", ""],
      ["on", "x"],
      ["to", "y"],
    ],
  );
  const later = cursor('{ "transitions": [{ "guard": { | }, "on": "$timeout" }] }');
  assert.equal(later?.members[2]?.get("on"), "$timeout", "what stands behind it is known as well");
  assert.equal(cursor("|"), undefined);
  assert.equal(cursor(`${"[".repeat(10_000)}|`)?.path.length, 10_000);
});

test("the schema says which keys and values can stand at a place", () => {
  const members = (...given: Record<string, string>[]) => given.map((each) => new Map(Object.entries(each)));
  const keys = (path: (string | number)[], ...given: Record<string, string>[]) =>
    keysOf(schemasAt(path, members(...given)), new Map(Object.entries(given.at(-1) ?? {}))).map(
      ({ name }) => name,
    );
  assert.deepEqual(keys(["transitions", 0], {}, {}, { from: "a", to: "b", on: "x" }).sort(), [
    "description",
    "guard",
    "region",
  ]);
  const transition = { from: "a", to: "b" };
  assert.deepEqual(keys(["transitions", 0, "guard"], {}, {}, { ...transition, on: "$timeout" }, {}).sort(), [
    "after_ms",
    "all",
    "any",
    "field",
    "op",
    "timeout_seconds",
    "value",
  ]);
  const event = keys(["transitions", 0, "guard"], {}, {}, { ...transition, on: "x" }, { field: "n" });
  assert.deepEqual(event.sort(), ["op", "value"], "a comparison is begun");
  const webhook = keys(["actions", 0, "action"], {}, {}, {}, { type: "webhook" });
  assert.deepEqual(webhook.sort(), ["body", "headers", "method", "signed", "url"]);
  assert.ok(!keys([], { states: "" }).includes("regions"), "states or regions");
  assert.ok(!keys([], {}).includes("revision"), "what the service sets is not offered");
  assert.deepEqual(keys(["__proto__"], {}, {}), []);
  const operators = schemasAt(["transitions", 0, "guard", "op"], []).flatMap(formsOf);
  assert.ok(operators.some((form) => form.const === "contains" && form.description === "Contains, as text."));
});

test("names come from the document, broken or not", () => {
  const text = `{ "machine_id": "m",
    "regions": [
      { "id": "pay", "states": ["open", "paid"], "initial_state": "open" },
      { "states": ["idle", "__proto__"], "id": "it's" } ],
    "transitions": [
      { "region": "pay", "from": "open", "to": "paid", "on": "pay", "guard": { "all": [{ "field": "amount" }] } },
      { "region": "it's", "from": "`;
  const names = new Names(text);
  const of = (path: (string | number)[], members: Record<string, string>) =>
    namesFor(path, [new Map(Object.entries(members))], names, ["child"]);
  assert.deepEqual(names.regionIds, ["pay", "it's"]);
  assert.deepEqual(of(["transitions", 1, "from"], { region: "it's" }), ["idle", "__proto__"]);
  assert.deepEqual(of(["transitions", 1, "from"], {}), ["open", "paid", "idle", "__proto__"]);
  assert.deepEqual(of(["transitions", 1, "on"], {}), ["pay", "$timeout"]);
  assert.deepEqual(of(["transitions", 0, "guard", "all", 0, "field"], {}), ["amount"]);
  assert.deepEqual(of(["regions", 0, "initial_state"], {}), ["open", "paid"]);
  assert.deepEqual(of(["regions", 1, "sub_machines"], {}), ["idle", "__proto__"]);
  assert.deepEqual(of(["regions", 1, "sub_machines", "idle", "machine_id"], {}), ["child"]);
  assert.deepEqual(of(["joins", 0, "when"], {}), ["pay", "it's"]);
  assert.deepEqual(of(["joins", 0, "when", "pay"], {}), ["open", "paid"]);
  assert.deepEqual(of(["joins", 0, "target_state"], { target_region: "pay" }), ["open", "paid"]);
});

test("formatting changes white space alone", () => {
  const text =
    '{"big":123456789012345678901234567890,"a":1,"a":2,"lone":"\\ud800","deep":' +
    `${"[".repeat(10_000)}${"]".repeat(10_000)},"long":["${"x".repeat(120)}", {"b": [] , "c":{}}]}`;
  const laidOut = formatJson(text);
  assert.ok(laidOut !== undefined);
  const dense = (json: string) => json.replaceAll(/\s+/g, "");
  assert.equal(dense(laidOut), dense(text));
  assert.ok(laidOut.length < text.length * 60, "deep brackets are not indented without end");
  assert.equal(formatJson(laidOut), laidOut);
  assert.equal(formatJson("{"), undefined);
  assert.equal(
    jsonText({ machine_id: "m", states: ["a", "b"], transitions: [{ from: "a", to: "b", on: "x" }] }),
    '{\n  "machine_id": "m",\n  "states": ["a", "b"],\n  "transitions": [{ "from": "a", "to": "b", "on": "x" }]\n}\n',
  );
});
