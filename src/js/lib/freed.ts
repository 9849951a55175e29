import { StatewrightError } from "./errors.ts";

/** Stands for what was freed: whatever is asked of it is refused. */
export function freed<T extends object>(what: string): T {
  const refuse = (): never => {
    throw new StatewrightError({ code: "FREED", message: `the ${what} was freed`, retry: false }, 0);
  };
  return new Proxy({} as T, { get: refuse });
}
