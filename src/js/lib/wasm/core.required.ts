// The core's WebAssembly for ES modules in Node: what CommonJS has, so that a program that uses both has it once.

import type { core as loader } from "./core.node.ts";
import { once } from "./once.ts";
import { required } from "./required.ts";

/** The bindings, as those of core.node.ts. */
export const core = once(() => required<{ readonly core: typeof loader }>("core").core());
