const engine = require("statewright/engine");

import("./exercise.mjs")
  .then(({ durable }) => durable(engine, engine.memory()))
  .then((done) => console.log(JSON.stringify(done)));
