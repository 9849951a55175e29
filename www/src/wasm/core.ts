import * as bindings from "#core-bindings";
import url from "#core-file";

import { fromFile } from "./compiled.ts";

/** `core` is what the package asks for when it first needs it. */
export const { load, loaded: core } = fromFile(bindings, url);
