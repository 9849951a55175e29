import * as core from "statewright";
import * as client from "statewright/client";
import * as testing from "statewright/testing";
import { importXState } from "statewright/import-xstate";

import { pure } from "./exercise.js";

console.log(
  JSON.stringify({
    ...pure(core),
    others: [client.createClient, testing.paths, importXState].map((one) => typeof one),
    one: client.StatewrightError === core.StatewrightError,
  }),
);
