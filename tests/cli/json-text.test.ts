// The reader of JSON that knows places: it takes exactly what JSON.parse takes, and says where a fault is.

import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { frame, JsonFault, offsetOf, placeOf, readJsonText } from "../../src/js/lib/cli/json-text.ts";

function fault(text: string): { message: string; line: number; column: number } {
  try {
    readJsonText(text);
  } catch (error) {
    assert.ok(error instanceof JsonFault);
    return { message: error.message, ...placeOf(text, error.offset) };
  }
  return assert.fail(`${text} was read`);
}

test("reads what JSON.parse reads, and refuses what it refuses", () => {
  const mutated = fc
    .tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom("", ",", "}", "]", '"', "\\", "x", "0", "-", ".", "e", "\n", ":", "{", "\t"),
    )
    .map(
      ([text, at, put]) =>
        text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + 1),
    );
  fc.assert(
    fc.property(fc.oneof(fc.json(), mutated), (text) => {
      let expected: unknown;
      try {
        expected = JSON.parse(text);
      } catch {
        return void fault(text);
      }
      assert.deepEqual(readJsonText(text).value, expected);
    }),
    { seed: 5, numRuns: 3000 },
  );
});

test("knows where each value is", () => {
  const text = '{\n  "a": [1, {"b c": "d"}],\n  "e": null\n}';
  const json = readJsonText(text);
  const at = (path: string) => text.slice(offsetOf(json, path)).slice(0, 5);
  assert.equal(at("$"), text.slice(0, 5));
  assert.equal(at("$.a"), '"a": ');
  assert.equal(at("$.a[0]"), '1, {"');
  assert.equal(at('$.a[1]["b c"]'), '"b c"');
  assert.equal(at("$.e"), '"e": ');
  assert.equal(at("$.a[1].missing.more"), '{"b c', "what is missing is shown where it would be");
});

/** Texts that are no JSON, and what is said where. */
const FAULTS: [text: string, message: RegExp, line: number, column: number][] = [
  ["", /empty/, 1, 1],
  ['{"a": 1,}', /a comma before `}`/, 1, 8],
  ['{\n  "a": 1\n  "b": 2\n}', /`"` where `,` or `}` is expected/, 3, 3],
  ["{a: 1}", /`a` where a key in double quotes is expected/, 1, 2],
  ["['a']", /a text has double quotes/, 1, 2],
  ['{"a" 1}', /`1` where `:` is expected/, 1, 6],
  ["[1, 2", /the end of the text where `,` or `]` is expected/, 1, 1],
  ['{"a": [1}', /`}` where `,` or `]` is expected/, 1, 9],
  ["// no\n{}", /JSON has no comments/, 1, 1],
  ['{"a": 1} {}', /more text/, 1, 10],
  ['["a\nb"]', /a text that does not end on its line/, 1, 2],
  ['["\\x"]', /a backslash that means nothing/, 1, 3],
  ["[01]", /`01` where a value is expected/, 1, 2],
  ["[nil]", /`nil` where a value is expected/, 1, 2],
  ["[undefined]", /`undefined` where/, 1, 2],
  ['["ö", +]', /`\+` where a value is expected/, 1, 7],
];

for (const [text, message, line, column] of FAULTS) {
  test(`says what is wrong with ${JSON.stringify(text)}`, () => {
    const found = fault(text);
    assert.match(found.message, message);
    assert.deepEqual([found.line, found.column], [line, column]);
  });
}

test("is not brought down by depth, and takes a byte order mark", () => {
  assert.match(fault("[".repeat(100_000)).message, /levels deep/);
  assert.deepEqual(readJsonText("\ufeff{}").value, {});
});

test("shows the line with a mark under the place, long lines cut", () => {
  const text = `{\n  "key": "${"x".repeat(300)}", oops }`;
  const { line, column } = fault(text);
  const [shown = "", mark = ""] = frame(text, text.indexOf("oops"));
  assert.deepEqual([line, column], [2, 314]);
  assert.ok(shown.length < 120);
  assert.equal(shown[mark.indexOf("^")], "o");
});
