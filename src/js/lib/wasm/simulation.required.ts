// The simulations' WebAssembly for ES modules in Node: what CommonJS has, so that a program that uses both has it once.

import type { simulation as loader } from "./simulation.node.ts";
import { once } from "./once.ts";
import { required } from "./required.ts";

/** The bindings, as those of simulation.node.ts. */
export const simulation = once(() =>
  required<{ readonly simulation: typeof loader }>("simulation").simulation(),
);
