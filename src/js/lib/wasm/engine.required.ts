// The engine's WebAssembly for ES modules in Node: what CommonJS has, so that a program that uses both has it once.

import type { engine as loader } from "./engine.node.ts";
import { once } from "./once.ts";
import { required } from "./required.ts";

/** The bindings, as those of engine.node.ts. */
export const engine = once(() => required<{ readonly engine: typeof loader }>("engine").engine());
