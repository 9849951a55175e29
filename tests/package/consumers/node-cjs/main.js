const core = require("statewright");
const client = require("statewright/client");
const testing = require("statewright/testing");
const { importXState } = require("statewright/import-xstate");

// What stands beside is an ES module, on every runtime the same.
import("./exercise.mjs").then(({ pure }) => {
  console.log(
    JSON.stringify({
      ...pure(core),
      others: [client.createClient, testing.paths, importXState].map((one) => typeof one),
      one: client.StatewrightError === core.StatewrightError,
    }),
  );
});
