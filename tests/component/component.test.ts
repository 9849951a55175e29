// The built component: it imports nothing, it is what wit/ says, and it runs in wasmtime, from Python and from Rust, and by jco
// in Node.js. The three programs are the examples of docs/component.md, line by line.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";

import { buildComponent, canBuildComponent, COMPONENT, WASM_TOOLS } from "../../scripts/component.ts";
import { ROOT } from "../../scripts/paths.ts";

const skip = canBuildComponent() ? false : "there is no wasm-tools here (no Python)";
if (skip === false) await buildComponent();
else assert.notEqual(process.env["CI"], "true", skip);

const scratch = mkdtempSync(join(tmpdir(), "component-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** What a command prints; it must succeed. */
function output(command: string, args: readonly string[], env: Record<string, string> = {}): string {
  const done = spawnSync(command, args, { cwd: ROOT, encoding: "utf8", env: { ...process.env, ...env } });
  assert.equal(done.error, undefined);
  assert.equal(done.status, 0, `${command} ${args.join(" ")}\n${done.stdout}\n${done.stderr}`);
  return done.stdout;
}

/** The interfaces of a WIT text by name, each as its lines without comments. */
function interfaces(wit: string): Map<string, string> {
  const found = new Map<string, string>();
  let [name, depth, lines]: [string | undefined, number, string[]] = [undefined, 0, []];
  for (const line of wit.split("\n").map((line) => line.replace(/\/\/\/.*$/, "").trim())) {
    if (line === "") continue;
    if (name === undefined) {
      name = /^interface ([\w-]+) \{$/.exec(line)?.[1];
      continue;
    }
    if (line.endsWith("{")) depth += 1;
    else if (line === "}") depth -= 1;
    if (depth >= 0) {
      lines.push(line);
      continue;
    }
    found.set(name, lines.join("\n"));
    [name, depth, lines] = [undefined, 0, []];
  }
  return found;
}

test("it imports nothing, neither as a component nor in the module inside it", { skip }, () => {
  const wit = output(WASM_TOOLS, ["component", "wit", COMPONENT]);
  assert.doesNotMatch(wit, /^\s*import /m);
  const [world = ""] = /world root \{[^}]*\}/.exec(wit) ?? [];
  assert.ok(world.includes("export statewright:core/machines@0.1.0;"), world);
  const text = output(WASM_TOOLS, ["print", "--skeleton", COMPONENT]);
  assert.ok(text.startsWith("(component\n"));
  // What is nested deeper is wired inside.
  assert.doesNotMatch(text, /^ {2}\(import /m, "no import of the component");
  const module = output(WASM_TOOLS, ["print", "--skeleton", join(dirname(COMPONENT), "module.wasm")]);
  const imports = [...module.matchAll(/^ {2}\(import "([^"]*)" "([^"]*)"/gm)];
  for (const [, from, name] of imports) {
    // What the component itself gives its module: the handles of its own resources.
    assert.match(`${from} ${name}`, /^\[export\]statewright:core\/\w+@0\.1\.0 \[resource-\w+\]\w+$/);
  }
});

test("what it exports is what wit/ says", { skip }, () => {
  const said = interfaces(output(WASM_TOOLS, ["component", "wit", join(ROOT, "wit")]));
  const built = interfaces(output(WASM_TOOLS, ["component", "wit", COMPONENT]));
  assert.ok(said.size >= 5, [...said.keys()].join());
  assert.deepEqual([...built.keys()].sort(), [...said.keys()].sort());
  for (const [name, body] of said) assert.equal(built.get(name), body, name);
});

test("every function, record and case of wit/ is documented where its name does not say it", { skip }, () => {
  for (const file of ["types", "instances", "outcomes", "explanations", "machines", "sessions", "world"]) {
    const path = join(ROOT, "wit", `${file}.wit`);
    if (!existsSync(path)) continue;
    const lines = readFileSync(path, "utf8").split("\n");
    lines.forEach((line, index) => {
      const needs = /^\s*(interface|world|record|variant|enum|resource|type) |: (static )?func\(/.test(line);
      if (!needs) return;
      assert.match(lines[index - 1] ?? "", /^\s*\/\/\//, `wit/${file}.wit:${index + 1} ${line.trim()}`);
    });
  }
});

const PRINTED = {
  python: 'applied placed → paid\nno-transition guard stock gt 0 but 0\no-1 paid 2 {"amount":20}\n',
  node: 'applied placed → paid\nno-transition guard stock gt 0 but 0\no-1 paid 2n {"amount":20}\n',
  rust: [
    'applied placed → paid [Written { machine-id: "order", entity-id: "o-1", state-version: 2 }]',
    'Would::NoTransition: Clause { path: "guard", field: Some("stock"), op: Some(Operator::Gt), expected: Some("0"), seen: Some("0"), source: Some(Source::Param), reason: None }',
    'o-1 State::Flat("paid") {"amount":20}',
    "",
  ].join("\n"),
};

test("it runs in Python, by wasmtime", { skip }, () => {
  const python = join(ROOT, "target", "venv", "bin", "python");
  assert.equal(output(python, ["tests/component/example.py", COMPONENT]), PRINTED.python);
});

test("it runs in Node.js, by jco", { skip }, () => {
  const jco = join(ROOT, "node_modules", ".bin", "jco");
  output(process.execPath, [jco, "transpile", COMPONENT, "--name", "statewright", "-o", scratch, "--quiet"]);
  assert.equal(output(process.execPath, ["tests/component/example.mjs", scratch]), PRINTED.node);
});

test("it runs in Rust, by wasmtime", { skip, timeout: 1_800_000 }, () => {
  const manifest = "tests/component/rust/Cargo.toml";
  const target = join(ROOT, "target", "component-rust");
  const args = ["run", "--quiet", "--locked", "--manifest-path", manifest, "--", COMPONENT];
  assert.equal(output("cargo", args, { CARGO_TARGET_DIR: target }), PRINTED.rust);
});

test("docs/component.md shows these programs", () => {
  const page = readFileSync(join(ROOT, "docs", "component.md"), "utf8");
  const programs = [
    ["py", "example.py"],
    ["rust", "rust/src/main.rs"],
    ["js check", "example.mjs"],
  ] as const;
  for (const [language, file] of programs) {
    const source = readFileSync(join(ROOT, "tests", "component", file), "utf8");
    assert.ok(page.includes(`\`\`\`${language}\n${source}\`\`\``), `the ${language} block is ${file}`);
  }
});
