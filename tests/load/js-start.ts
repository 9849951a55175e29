// How long a fresh program takes from importing a library to its first event. Run by `js.ts`, with the library's name; prints
// milliseconds by the clock, and of the processor.

const began = performance.now();
const { user, system } = process.cpuUsage();

async function statewright(): Promise<unknown> {
  const { defineMachine } = await import("statewright");
  const door = defineMachine({
    machine_id: "door",
    states: ["open", "shut"],
    initial_state: "shut",
    transitions: [{ from: "shut", to: "open", on: "push" }],
  });
  return door.send(door.create("d-1"), "push").snapshot.current_state;
}

async function xstate(): Promise<unknown> {
  const { createMachine, initialTransition, transition } = await import("xstate");
  const door = createMachine({ initial: "shut", states: { shut: { on: { push: "open" } }, open: {} } });
  const [shut] = initialTransition(door);
  return transition(door, shut, { type: "push" })[0].value;
}

const state = process.argv[2] === "xstate" ? await xstate() : await statewright();
const taken = performance.now() - began;
const cpu = process.cpuUsage({ user, system });
if (state !== "open") throw new Error(`it is ${String(state)}`);
console.log(JSON.stringify({ taken, cpu: (cpu.user + cpu.system) / 1000 }));
