// Numbers that a page cannot hold: they are refused where they are typed, and never sent as other ones.

import assert from "node:assert/strict";
import { test } from "node:test";

import { exactJson, inexactIn, isExact, roundedIn } from "../../www/src/parts/exact-numbers.ts";
import { Documents } from "../../www/src/simulator/model-documents.ts";
import { BLANK, fieldsOf, objectSaid, paramsOf } from "../../www/src/simulator/params-fields.ts";

const LARGE = "1234567890123456789";

test("a number is exact where it stays the decimal that is written", () => {
  for (const text of [
    "0",
    "-0",
    "12",
    "1.50",
    "0.1",
    "1e21",
    "1E+2",
    "100000000000000000000",
    "9007199254740992",
    "5e-324",
  ])
    assert.ok(isExact(text), text);
  for (const text of [LARGE, `-${LARGE}`, "9007199254740993", "1e400", "1e-400", "0.12345678901234567891"])
    assert.ok(!isExact(text), text);
});

test("it is told where in a text such a number stands", () => {
  const text = `{"a b": [1, {"id": ${LARGE}}], "text": "${LARGE}", "${LARGE}": {}, "__proto__": ${LARGE}, "end": 1}`;
  assert.deepEqual(
    inexactIn(text).map(({ path }) => path),
    ['$["a b"][1].id', "$.__proto__"],
  );
  assert.throws(() => exactJson(text), RangeError);
  assert.throws(() => exactJson("{"), SyntaxError);
  assert.deepEqual(exactJson(`["${LARGE}", 3]`), [LARGE, 3]);
});

test("params that would be sent as other ones are refused, in a field and in JSON", () => {
  const fields = fieldsOf([
    { field: "id", op: "eq", value: 5 },
    { all: [{ field: "any", op: "eq", value: [1] }] },
  ]);
  const typed = (id: string, any: string, other: string) => {
    const texts = new Map([
      ["id", id],
      ["any", any],
    ]);
    return paramsOf(fields, { ...BLANK, fields: texts, other });
  };
  const { params, problems } = typed(LARGE, `[${LARGE}]`, `{"more": ${LARGE}}`);
  assert.deepEqual(params, {});
  assert.match(problems.get("id") ?? "", /1234567890123456789 would become 1234567890123456800/);
  assert.match(problems.get("any") ?? "", /would become/);
  assert.match(problems.get(undefined) ?? "", /would become/);
  const fine = typed(" 7 ", "seven", `{"more": "${LARGE}"}`);
  assert.deepEqual([fine.problems.size, fine.params], [0, { id: 7, any: "seven", more: LARGE }]);
  assert.equal(typed("0x10", "", "").problems.get("id"), "It is no number.");
  assert.equal(objectSaid("[1]").problem, "It is no JSON object.");
});

test("whole numbers that were read and may have been others are found", () => {
  const read: unknown = JSON.parse(`{"a": [${LARGE}, 9007199254740991, 0.5], "b": null}`);
  assert.deepEqual([...roundedIn(read)], [1234567890123456800]);
});

test("a definition with a number that would become another one does not run", () => {
  const text = (
    value: string,
  ) => `{"machine_id": "account", "states": ["open", "shut"], "initial_state": "open",
    "transitions": [{"from": "open", "to": "shut", "on": "close", "guard": {"field": "id", "op": "eq", "value": ${value}}}]}`;
  const documents = new Documents();
  const { docs, machines } = documents.check([{ key: 1, text: text(LARGE) }]);
  assert.deepEqual(
    docs.flatMap(({ problems }) => problems.map(({ path, severity }) => [path, severity])),
    [["$.transitions[0].guard.value", "error"]],
  );
  assert.equal(machines, undefined);
  assert.equal(documents.check([{ key: 1, text: text(`"${LARGE}"`) }]).machines?.length, 1);
});
