// What runs in the page: an engine over sql.js, on which the tests run cases.

import initSqlJs from "sql.js";
import { memory } from "statewright/engine";

import { parse } from "../matching.ts";
import { type Case, runCases } from "../vectors.ts";
import { InProcess } from "./in-process.ts";

const sqlJs = await initSqlJs({ locateFile: () => "/sql-wasm.wasm" });
const host = new InProcess(() => memory(sqlJs));

const run = (cases: string) => runCases(host, parse(cases) as unknown as Case[]);

Object.assign(globalThis, { run, ready: true });
