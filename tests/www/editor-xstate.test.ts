// Reading XState's configs out of JavaScript, without running any of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { readXState } from "../../www/src/editor/xstate/read.ts";
import { SourceError } from "../../www/src/editor/xstate/source.ts";
import { translate } from "../../www/src/editor/xstate/translate.ts";

/** The config of a text, functions by their names. */
function configOf(text: string): unknown {
  const { config } = Object(readXState(text).machine);
  return plain(config);
}

function plain(value: unknown): unknown {
  if (typeof value === "function") return `code ${value.name}`;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

const leftOut = (text: string): string[] =>
  readXState(text).leftOut.map(({ what }) => what.replaceAll("`", ""));

/** The error of a text that cannot be read. */
function errorOf(text: string): string {
  try {
    readXState(text);
  } catch (error) {
    assert.ok(error instanceof SourceError, String(error));
    return error.message;
  }
  return assert.fail(`it was read: ${text.slice(0, 80)}`);
}

test("whatever JSON an object is, it is read as JSON reads it", () => {
  const member = fc.jsonValue();
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "binary" }), member), fc.nat({ max: 4 }), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      assert.deepEqual(Object(readXState(text).machine)["config"], JSON.parse(text));
    }),
    { numRuns: 500 },
  );
});

test("whatever text it is, it is read or refused with a place, and nothing of it runs", () => {
  const piece = fc.constantFrom(
    ..."{}[]()<>,;:'\"`$\\/*=!?.+-\n &|".split(""),
    "createMachine(",
    "setup(",
    "=>",
    "...",
    "a",
    "states",
    "1",
    "0x",
    "as const",
    "function",
    "${",
    "//",
    "/*",
    "*/",
    "globalThis.ran = 1",
    "import('x')",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), fc.boolean(), (pieces, wrapped) => {
      const text = wrapped ? `createMachine({ a: ${pieces.join("")} })` : pieces.join("");
      try {
        readXState(text);
      } catch (error) {
        assert.ok(error instanceof SourceError, String(error));
      }
      assert.ok(!("ran" in globalThis));
    }),
    { numRuns: 3000 },
  );
});

test("what JavaScript has beside JSON is read", () => {
  assert.deepEqual(
    configOf(
      `
      /* a comment with createMachine({ no: 1 }) */
      const machine = createMachine({
        id: 'it\\'s', "quoted": 1, $word_1: \`two
lines\`, 3: .5, 0x10: 1_000, [2]: 2, ["a b"]: 3,
        numbers: [-1, +2, 0xff, 1e3, 0b11, 24 * 60 * 60 * 1000, Infinity,],
        words: [true, false, null, undefined], // the end
        escapes: "\\x41\\u{1F600}\\u00e9\\
\\n", as: "as", satisfies: 1,
        typed: { type: 'final' as const, entry: <never>[] }, other: [] as string[], third: {} satisfies Record<string, Array<{ a: 1 }>>,
        sure: "x"!,
      } as const);
      machine.start();
    `.replace(", entry: <never>[]", ""),
    ),
    {
      id: "it's",
      quoted: 1,
      $word_1: "two\nlines",
      3: 0.5,
      0x10: 1000,
      2: 2,
      "a b": 3,
      numbers: [-1, 2, 255, 1000, 3, 86_400_000, Infinity],
      words: [true, false, null, undefined],
      escapes: "A😀é\n",
      as: "as",
      satisfies: 1,
      typed: { type: "final" },
      other: [],
      third: {},
      sure: "x",
    },
  );
});

test("code is left out, by its name or its place", () => {
  const text = `createMachine({
    context: ({ input }) => ({ count: input.count ?? 0, text: "}" }),
    entry: [log, this.tell, "named", { type: "also" }, async function () { return /[}"'\\]]/.test("x}") ? 1 : 2 }],
    exit() { const a = \`\${ { b: "}" }.b } \\\` \`; return a / 2 / 1; },
    guard: ({ context: { a, b } }) => a > b,
    invoke: { src: fromPromise(async () => fetch(\`/x/\${1}\`)), input: a ? b : { c: 1 } },
    actions: assign<Ctx, Ev>({ n: (_, e) => e.n }),
    ...shared, [computed + 1]: 1, shorthand,
    after: { [DELAY]: "x", 10: "y" },
    text: \`a\${1}\`,
    done: "yes"
  })`;
  assert.deepEqual(configOf(text), {
    context: "code context",
    entry: ["log", "tell", "named", { type: "also" }, "code "],
    exit: "code exit",
    guard: "code guard",
    invoke: { src: "code fromPromise(…)", input: "code input" },
    actions: "code assign",
    shorthand: "code shorthand",
    after: { 10: "y" },
    text: "code text",
    done: "yes",
  });
  const notes = leftOut(text).join("\n");
  for (const what of [
    "function at context",
    "log is code; it is taken as a name",
    "function exit",
    "call of fromPromise at src",
    "spread ...shared",
    "a key that is computed [computed + 1]: 1",
    "shorthand at shorthand",
    "code at text",
  ]) {
    assert.ok(notes.includes(what), `${what} in\n${notes}`);
  }
});

test("setup's delays count, and a config is found by its name", () => {
  const { machine } = readXState("setup({ delays: { week: 7 * 86400e3 } }).createMachine({ id: 'm' })");
  assert.deepEqual(plain(machine), {
    config: { id: "m" },
    implementations: { delays: { week: 604_800_000 } },
  });
  assert.deepEqual(
    configOf("const other = { a: 1 }; const config: Config = { id: 'c' }; createMachine(config)"),
    { id: "c" },
  );
  assert.deepEqual(configOf("export default { id: 'd' };"), { id: "d" });
});

test("an error says where it is, in words", () => {
  assert.equal(
    errorOf(""),
    "Line 1, column 1: there is nothing here; paste a config or a call of createMachine",
  );
  assert.match(errorOf("let a = 1"), /no call of createMachine/);
  assert.equal(
    errorOf("{\n  a: 1\n  b: 2\n}"),
    "Line 3, column 3: `b` is not expected here; a comma or `}` is",
  );
  assert.equal(errorOf("{ a: 'x }"), "Line 1, column 6: this text does not end");
  assert.equal(errorOf("{ a: }"), "Line 1, column 6: `}` is not expected here; a value is");
  assert.match(errorOf("{ a: [1, 2 "), /^Line 1, column 12: `]` is missing/);
  assert.match(errorOf(`{ a: ${"[".repeat(10_000)}`), /brackets are more than 200 deep/);
  assert.match(errorOf(`{ a: () => ${"(".repeat(100_000)} }`), /closes nothing/);
});

test("keys that objects have by themselves are keys like others", () => {
  const read = configOf('{ __proto__: { states: 1 }, constructor: 2, "toString": 3 }');
  assert.deepEqual(Object.keys(Object(read)), ["__proto__", "constructor", "toString"]);
  assert.equal(Object(read)["states"], undefined);
});

test("guards by and, or and not are carried over, where a map says what their names mean", () => {
  const text = `createMachine({ id: "m", initial: "a", states: {
    a: { on: { go: { target: "b", guard: and(["x", or(["y", "x"])]) }, stay: { target: "b", guard: not("x") } } }, b: {} } })`;
  const of = (field: string) => ({ field, op: "eq", value: 1 });
  const { definitions, notCarried } = translate(text, JSON.stringify({ guards: { x: of("x"), y: of("y") } }));
  assert.deepEqual(definitions[0]?.transitions, [
    { from: "a", to: "b", on: "go", guard: { all: [of("x"), { any: [of("y"), of("x")] }] } },
  ]);
  assert.ok(notCarried.some(({ what }) => what === "guard `not(…)`"));
  assert.throws(() => translate(text, "{"), /What names mean/);
  assert.throws(() => translate('{ "id": "m" }', ""), /it has no `states`/);
});
