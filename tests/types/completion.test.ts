// An editor offers the right names, and nothing else, where one is written.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";

import type * as typescript from "../../scripts/openapi-types/node_modules/typescript/lib/typescript.d.ts";

import { ROOT } from "../../scripts/paths.ts";

const TYPES = join(ROOT, "tests/types");
// TypeScript 7 has no language service that a program can call.
const ts = createRequire(join(ROOT, "scripts/openapi-types/package.json"))("typescript") as typeof typescript;

/** What is offered at each `‸` of a text, in order. */
function offered(text: string): string[][] {
  const file = join(TYPES, "written.ts");
  const written = text.replaceAll("‸", "");
  const { options } = ts.convertCompilerOptionsFromJson(
    {
      ...ts.readConfigFile(join(TYPES, "tsconfig.json"), (path) => ts.sys.readFile(path)).config
        .compilerOptions,
    },
    TYPES,
  );
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (path) => {
      const source = path === file ? written : ts.sys.readFile(path);
      return source === undefined ? undefined : ts.ScriptSnapshot.fromString(source);
    },
    getCurrentDirectory: () => TYPES,
    getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
    fileExists: (path) => path === file || ts.sys.fileExists(path),
    readFile: (path) => ts.sys.readFile(path),
    directoryExists: (path) => ts.sys.directoryExists(path),
    getDirectories: (path) => ts.sys.getDirectories(path),
  });
  const places = [...text.matchAll(/‸/gu)].map(({ index }, before) => index - before);
  return places.map((place) => {
    const found = service.getCompletionsAtPosition(file, place, {});
    return (found?.entries ?? []).map(({ name }) => name).sort();
  });
}

test("an editor offers states, regions and events while a definition is written", () => {
  const found = offered(`import { defineMachine } from "./expect.ts";
export const machine = defineMachine({
  machine_id: "fulfilment",
  regions: [
    { id: "payment", states: ["pending", "captured"], initial_state: "‸" },
    { id: "goods", states: ["picking", "packed"], initial_state: "picking" },
  ],
  transitions: [
    { region: "payment", from: "‸", to: "captured", on: "pay" },
    { region: "goods", from: "picking", to: "‸", on: "pack" },
    { region: "‸", from: "picking", to: "packed", on: "pack" },
  ],
  joins: [{ when: { payment: "‸" }, target_region: "‸", target_state: "packed" }],
  actions: [
    { region: "payment", on_enter: "‸", action: { type: "‸" } },
    { on_enter: "packed", action: { type: "transition", machine_id: "fulfilment", entity_id: "x", event_type: "‸" } },
  ],
  broadcast: ["‸"],
});
`);
  const [payment, goods, regions, events] = [
    ["captured", "pending"],
    ["packed", "picking"],
    ["goods", "payment"],
    ["pack", "pay"],
  ];
  assert.deepEqual(found, [
    payment,
    payment,
    goods,
    regions,
    payment,
    regions,
    payment,
    ["event", "transition", "webhook"],
    events,
    events,
  ]);
});

test("an editor offers the events of a machine where one is sent, and its states where one is compared", () => {
  const found = offered(`import { defineMachine } from "./expect.ts";
const machine = defineMachine({
  machine_id: "door",
  states: ["open", "shut"],
  initial_state: "shut",
  transitions: [
    { from: "shut", to: "open", on: "push" },
    { from: "open", to: "shut", on: "pull" },
  ],
});
const { snapshot } = machine.send(machine.create("d"), "‸");
machine.send(snapshot, { type: "‸" });
export const isOpen = snapshot.current_state === "‸";
`);
  assert.deepEqual(found, [
    ["pull", "push"],
    ["pull", "push"],
    ["open", "shut"],
  ]);
});
