// The files of tests/vectors.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "../../scripts/paths.ts";
import { parse } from "./matching.ts";
import type { Case } from "./vectors.ts";

const FOLDER = join(ROOT, "tests", "vectors");

/** The cases of a file. */
export interface File {
  /** Its name, without `.json`. */
  readonly topic: string;
  readonly cases: readonly Case[];
}

/** All files, or what `VECTOR` in the environment names of them: a file, or a part of the names of cases. */
export function files(only = process.env["VECTOR"]): File[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  return names.sort().map((name) => {
    const topic = name.slice(0, -".json".length);
    const cases = parse(readFileSync(join(FOLDER, name), "utf8")) as unknown as Case[];
    const asked = ({ name }: Case) => only === undefined || topic === only || name.includes(only);
    return { topic, cases: cases.filter(asked) };
  });
}

/** The names of all cases. */
export function names(): Set<string> {
  return new Set(files("").flatMap(({ cases }) => cases.map(({ name }) => name)));
}
