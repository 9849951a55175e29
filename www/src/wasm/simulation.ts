import * as bindings from "#simulation-bindings";
import url from "#simulation-file";

import { fromFile } from "./compiled.ts";

/** `simulation` is what the package asks for when it first needs it. */
export const { load, loaded: simulation } = fromFile(bindings, url);
