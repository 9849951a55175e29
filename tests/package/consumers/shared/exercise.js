// What the projects beside do with the package, each on its own runtime: the answers must be the same. The package's parts are
// given, since each gets them its own way.

export const door = {
  machine_id: "door",
  states: ["closed", "open"],
  initial_state: "closed",
  transitions: [
    { from: "closed", to: "open", on: "push" },
    { from: "open", to: "closed", on: "pull" },
    { from: "open", to: "closed", on: "$timeout", guard: { timeout_seconds: 60 } },
  ],
};

/** The pure core: a snapshot, events, time, refusals, an instance in Wasm, and a simulation with a scenario. */
export function pure({ defineMachine, simulate, checkScenario, StatewrightError }) {
  const machine = defineMachine(door);
  const closed = machine.create("front", {}, { now: 1000 });
  const sent = machine.send(closed, { type: "push", timestamp: 2000 }, { now: 2000 });
  const late = machine.advance(sent.snapshot, 70_000);

  const instance = machine.instance("tight", {}, { now: 0 });
  const push = instance.event("push");
  const pull = instance.event("pull");
  for (let round = 0; round < 1000; round += 1) {
    instance.send(push);
    instance.send(pull);
  }
  const { version } = instance;
  instance.free();

  const session = simulate([machine], { now: 0 });
  session.create("door", "back");
  session.send("door", "back", "push");
  session.advance(60_000);
  const scenario = session.export();

  let refused = "nothing";
  try {
    defineMachine({ ...door, initial_state: "ajar" });
  } catch (error) {
    refused = error instanceof StatewrightError ? error.code : String(error);
  }
  return {
    outcome: sent.outcome,
    states: [closed.current_state, sent.snapshot.current_state, late.snapshot.current_state],
    due: machine.due(sent.snapshot)?.at,
    why: machine.why(closed, "pull").would,
    version,
    simulated: session.entity("door", "back").current_state,
    checked: checkScenario(JSON.parse(JSON.stringify(scenario))).passed,
    refused,
  };
}

/** An engine on a new database, under a clock that the test moves. */
export async function durable({ createEngine, StatewrightError }, database) {
  let now = 1000;
  const engine = await createEngine({ database, clock: () => now });
  try {
    await engine.machines.create(door);
    await engine.entities.create("door", { entity_id: "front" });
    const pushed = await engine.entities.transition("door", "front", { event_type: "push", timestamp: 1000 });
    now = 70_000;
    await engine.tick();
    const { current_state } = await engine.entities.get("door", "front");
    let missing = "nothing";
    try {
      await engine.entities.get("door", "none");
    } catch (error) {
      missing = error instanceof StatewrightError ? `${error.status} ${error.code}` : String(error);
    }
    return { state: pushed.current_state, later: current_state, missing };
  } finally {
    await engine.close();
  }
}
