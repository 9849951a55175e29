// What the type tests are written with. They are compiled, by TypeScript 7 and 5.9, and never run.

import type { DefineMachine } from "../../src/js/lib/checked.ts";

export declare const defineMachine: DefineMachine;

/** A type test: it passes when it compiles. */
export declare function type(name: string, body: () => void): void;

/** Whether two types are the same, and not only assignable to each other. */
export type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;

/** Holds where its argument is `true`. */
export declare function holds<Condition extends true>(): Condition;
