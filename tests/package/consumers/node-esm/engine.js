import * as engine from "statewright/engine";

import { durable } from "./exercise.js";

console.log(JSON.stringify(await durable(engine, engine.memory())));
