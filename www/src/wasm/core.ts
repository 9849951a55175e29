import * as bindings from "#core-bindings";
import url from "#core-file";

import { compiled } from "./compiled.ts";

let loading: Promise<void> | undefined;
let loaded = false;

/** Loads it, once; of a load that failed, the next call is another try. */
export function load(): Promise<void> {
  loading ??= compiled(url).then(
    (module) => {
      bindings.initSync({ module });
      loaded = true;
    },
    (error: unknown) => {
      loading = undefined;
      throw error;
    },
  );
  return loading;
}

/** The bindings, which the package asks for when it first needs them. */
export function core(): typeof bindings {
  if (!loaded) throw new Error("the page used its WebAssembly before it was loaded");
  return bindings;
}
