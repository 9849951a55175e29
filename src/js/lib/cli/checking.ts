// Checks definitions, each by itself and all together, and shows what was found where it stands.

import { defineMachine, StatewrightError, validate } from "../core.ts";
import type { Definition } from "../definition.ts";
import type { AnyMachine } from "../typed.ts";
import type { Definitions, Source } from "./files.ts";
import { frame, offsetOf, type Place, placeOf } from "./json-text.ts";
import { EXIT, Refusal } from "./refusal.ts";
import type { Output, Styles } from "./terminal.ts";

/** Something to mend in a definition. */
export interface Fault {
  /** Its path in the file. */
  readonly path: string;
  readonly problem: string;
  readonly expected?: string;
}

/** Something of a definition that deserves a second look. */
export interface Warning {
  readonly kind: string;
  /** Its path in the file. */
  readonly path: string;
  readonly message: string;
}

/** What was found in the definitions of a file. */
export interface Checked {
  readonly faults: readonly Fault[];
  readonly warnings: readonly Warning[];
}

/** The start of a path in the definitions that were given together: the first, or one of the others. */
const OF_OTHER = /^machines\[(\d+)\]/;

/** Checks definitions: each by itself, and then what they say of each other. */
export function check({ list, paths }: Definitions): Checked {
  const faults: Fault[] = [];
  const warnings: Warning[] = [];
  list.forEach((definition, index) => {
    const alone = validate(definition) as unknown as Checked;
    const root = paths[index] ?? "$";
    faults.push(...alone.faults.map((fault) => ({ ...fault, path: within(root, fault.path) })));
    if (list.findIndex(({ machine_id }) => machine_id === definition.machine_id) < index) {
      const problem = `the file has another machine \`${definition.machine_id}\``;
      faults.push({ path: within(root, "$.machine_id"), problem, expected: "an id of its own" });
    }
    if (list.length === 1) warnings.push(...alone.warnings);
  });
  if (list.length < 2 || faults.length > 0) return { faults, warnings };
  list.forEach((definition, index) => {
    const root = paths[index] ?? "$";
    const others = list.filter((_, other) => other !== index);
    const together = checkTogether(definition, others);
    faults.push(...together.faults.map((fault) => ({ ...fault, path: within(root, fault.path) })));
    warnings.push(...together.warnings.map((warning) => ({ ...warning, path: within(root, warning.path) })));
  });
  return { faults, warnings };
}

/** What there is to say of a definition beside others. */
function checkTogether(definition: Definition, others: readonly Definition[]): Checked {
  const own = <Told extends { readonly path: string }>(told: readonly Told[]) =>
    told.filter(({ path }) => !OF_OTHER.test(path));
  try {
    return {
      faults: [],
      warnings: own(machineWith(definition, others).warnings as unknown as readonly Warning[]),
    };
  } catch (error) {
    if (!(error instanceof StatewrightError)) throw error;
    const faults = (error.details["faults"] ?? [{ path: "$", problem: error.message }]) as Fault[];
    return { faults: own(faults), warnings: [] };
  }
}

/** A machine, compiled with those that it may name. */
function machineWith(definition: Definition, others: readonly Definition[]): AnyMachine {
  const machines = others.map((other) => defineMachine(other as never) as AnyMachine);
  return defineMachine(definition as never, { machines }) as AnyMachine;
}

function within(root: string, path: string): string {
  return `${root}${path.replace(/^\$/, "")}`;
}

/** Where something stands in the file, where that is known. */
export function placeIn({ json }: Source, path: string): Place | undefined {
  const offset = json === undefined ? undefined : offsetOf(json, path);
  return json === undefined || offset === undefined ? undefined : placeOf(json.text, offset);
}

/** Shows what was found in a file. */
export function show(source: Source, { faults, warnings }: Checked, style: Styles): string[] {
  const lines: string[] = [];
  const told = (path: string, kind: string, texts: readonly string[]) => {
    const place = placeIn(source, path);
    const where = place === undefined ? source.name : `${source.name}:${place.line}:${place.column}`;
    lines.push(`${style.bold(where)} ${kind} ${path}`, ...texts.map((text) => `  ${text}`));
    const offset = source.json === undefined ? undefined : offsetOf(source.json, path);
    if (source.json !== undefined && offset !== undefined) {
      lines.push(...frame(source.json.text, offset).map((line) => `  ${style.dim(line)}`));
    }
  };
  for (const { path, problem, expected } of faults) {
    told(path, style.red("fault"), [problem, ...(expected === undefined ? [] : [`expected ${expected}`])]);
  }
  for (const { path, kind, message } of warnings) {
    told(path, style.yellow("warning"), [`${message} (${kind})`]);
  }
  return lines;
}

/** The machine of a file, compiled with those of its children; its faults end the command. */
export function machineOf(definitions: Definitions, output: Output): AnyMachine {
  const { faults } = check(definitions);
  if (faults.length > 0) {
    for (const line of show(definitions.source, { faults, warnings: [] }, output.errorStyle))
      output.note(line);
    throw new Refusal(`\`${definitions.source.name}\` has ${counted(faults.length, "fault")}`, {
      exit: EXIT.faults,
    });
  }
  const [first, ...others] = definitions.list;
  if (first === undefined) throw new Refusal(`\`${definitions.source.name}\` holds no definition`);
  return machineWith(first, others);
}

/** `1 fault`, `2 faults`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
