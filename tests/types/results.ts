// What a machine answers.

import type { StatewrightError } from "../../src/js/lib/errors.ts";
import type { Machine, Snapshot, SnapshotOf, TypesOf } from "../../src/js/lib/typed.ts";
import { defineMachine, holds, type, type Same } from "./expect.ts";

const light = defineMachine({
  machine_id: "light",
  states: ["red", "green"],
  initial_state: "red",
  transitions: [
    { from: "red", to: "green", on: "go" },
    { from: "green", to: "red", on: "$timeout", guard: { timeout_seconds: 30 } },
  ],
});

const other = defineMachine({
  machine_id: "other",
  states: ["red", "green"],
  initial_state: "red",
  transitions: [{ from: "red", to: "green", on: "go" }],
});

type("a snapshot is of its machine", () => {
  const snapshot = light.create("l");
  holds<Same<typeof snapshot.machine_id, "light">>();
  // @ts-expect-error it is of another machine
  other.send(snapshot, "go");
});

type("a snapshot's state is one of the machine's", () => {
  const snapshot = light.create("l");
  holds<Same<typeof snapshot.current_state, "red" | "green">>();
  // @ts-expect-error there is no state amber
  if (snapshot.current_state === "amber") return;
});

type("a state can be told apart in a switch, and none is forgotten", () => {
  const colour = (snapshot: SnapshotOf<typeof light>): number => {
    switch (snapshot.current_state) {
      case "red":
        return 1;
      case "green":
        return 2;
    }
  };
  void colour;
});

type("`send` answers with a snapshot of the same machine", () => {
  const sent = light.send(light.create("l"), "go");
  holds<Same<typeof sent.snapshot, SnapshotOf<typeof light>>>();
  holds<Same<typeof sent.outcome, "applied" | "duplicate" | "no_transition" | "refused">>();
  holds<Same<NonNullable<typeof sent.answer>["current_state"], "red" | "green">>();
  light.send(sent.snapshot, "go");
});

type("a commit may be none", () => {
  const sent = light.send(light.create("l"), "go");
  // @ts-expect-error it may be null
  sent.commit.rows;
  if (sent.commit) holds<Same<(typeof sent.commit.rows)[number]["from_state"], string>>();
});

type("the outcome tells what there is", () => {
  const sent = light.send(light.create("l"), "go");
  switch (sent.outcome) {
    case "applied":
      holds<Same<typeof sent.commit.rows.length, number>>();
      return;
    case "duplicate":
    case "no_transition":
      holds<Same<typeof sent.commit, null>>();
      holds<Same<typeof sent.answer.reason, string | undefined>>();
      return;
    case "refused":
      holds<Same<typeof sent.error, StatewrightError>>();
      holds<Same<typeof sent.answer, null>>();
  }
});

type("effects are told apart by their kind", () => {
  const effect = light.send(light.create("l"), "go").commit?.effects[0];
  if (effect?.kind === "webhook") holds<Same<typeof effect.url, string>>();
  // @ts-expect-error not every effect has an address
  effect?.url;
});

type("snapshots cannot be changed", () => {
  const snapshot = light.create("l");
  // @ts-expect-error it is read-only
  snapshot.current_state = "green";
  // @ts-expect-error it is read-only
  snapshot.context["a"] = 1;
});

type("`advance` answers with a snapshot and what fired", () => {
  const { snapshot, timeouts } = light.advance(light.create("l"), 1000);
  holds<Same<typeof snapshot, SnapshotOf<typeof light>>>();
  holds<Same<(typeof timeouts)[number]["entity_id"], string>>();
});

type("`due` may be nothing", () => {
  const timer = light.due(light.create("l"));
  // @ts-expect-error it may be undefined
  timer.at;
  holds<Same<NonNullable<typeof timer>["at"], number>>();
});

type("`why` tells outcomes apart", () => {
  const explanation = light.why(light.create("l"), "go");
  holds<Same<typeof explanation.would, "transition" | "no_transition" | "forward" | "refused">>();
  // @ts-expect-error there is no event stop
  light.why(light.create("l"), "stop");
});

type("diagrams have a language that there is", () => {
  holds<Same<ReturnType<typeof light.diagram>, string>>();
  light.diagram("mermaid", light.create("l"));
  // @ts-expect-error there is no such language
  light.diagram("svg");
});

type("an instance takes events by name and by handle", () => {
  using instance = light.instance("l", { now: 0 });
  const go = instance.event("go");
  instance.send(go);
  instance.send("go");
  // @ts-expect-error there is no event stop
  instance.event("stop");
  // @ts-expect-error there is no event stop
  instance.send("stop");
  holds<Same<typeof instance.state, "red" | "green">>();
  instance.send("go", { any: "params" });
  // @ts-expect-error a handle has its params
  instance.send(go, {});
});

type("a snapshot that was kept can be read back as one", () => {
  const kept = JSON.parse("{}") as SnapshotOf<typeof light>;
  light.send(kept, "go");
});

type("a function can take any machine", () => {
  const names = (machine: Machine): string => machine.id;
  names(light);
  const snapshots = (snapshot: Snapshot): unknown => snapshot.current_state;
  snapshots(light.create("l"));
});

type("a function can be generic in its machine", () => {
  function first<M extends Machine>(machine: M, snapshot: SnapshotOf<M>): TypesOf<M>["state"] {
    void machine;
    return snapshot.current_state;
  }
  const state = first(light, light.create("l"));
  holds<Same<typeof state, "red" | "green">>();
});
