// What runs in the page: machines of `statewright`, on which the tests walk.

import { compile } from "./package-machine.ts";
import { type Told, walk } from "./walk.ts";

Object.assign(globalThis, { walk: (scripts: readonly Told[]) => walk(compile, scripts), ready: true });
