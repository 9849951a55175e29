// Random machines without children, what happens to their entities, and snapshots that were tampered with.

import fc from "fast-check";

const FIELDS = ["a", "b", "c"] as const;
const EVENTS = ["go", "stop", "tick"] as const;
const SEED = "statemachine-e1e4.v1";

/** Values that guards compare and params hold, each near to another in some way. */
export const values = fc.constantFrom<unknown>(
  ...[0, -0, 1, 1.5, -1, 1e21, 2 ** 53, 2 ** 53 - 1, 5e-324],
  ...["1", "1.0", " 1", "-1", "", "one", "on", "é", "\u2028", "\u0007", "😀", "null"],
  ...[true, false, null, [], [1], [-0, [1]], { x: 1 }, { y: 2, x: [1, { z: null }] }, { x: undefined }],
);

/** Params, or a context: in any order, with members that JSON leaves out. */
export const members: fc.Arbitrary<Record<string, unknown>> = fc
  .array(
    fc.tuple(
      fc.constantFrom(...FIELDS, "d", "10", "9", "toString"),
      fc.oneof(values, fc.constant(undefined)),
    ),
    {
      maxLength: 5,
    },
  )
  .map((pairs) => Object.fromEntries(pairs));

const comparison = fc.record({
  field: fc.constantFrom(...FIELDS),
  op: fc.constantFrom("eq", "neq", "gt", "gte", "lt", "lte", "contains"),
  value: values.filter((value) => !Object.is(value, -0)),
});
const guard = fc.oneof(
  { weight: 4, arbitrary: comparison },
  fc.array(comparison, { maxLength: 3 }).map((all) => ({ all })),
  fc.array(comparison, { maxLength: 3 }).map((any) => ({ any })),
);
const action = fc.constantFrom<object>(
  { type: "event", event_type: "told" },
  { type: "webhook", url: "https://hooks.example/x" },
  {
    type: "webhook",
    url: "https://hooks.example/x",
    body: { of: { $from: "/entity_id" }, all: { $from: "/context" } },
  },
);

/** A place: a region and a state, each by a number that is taken modulo. */
const place = fc.tuple(fc.nat(9), fc.nat(9));

interface Region {
  readonly id: string;
  readonly states: readonly string[];
}

function at(regions: readonly Region[], [region, state]: readonly [number, number]) {
  const { id, states } = regions[region % regions.length] as Region;
  return { region: id, state: states[state % states.length] as string, states };
}

/** Definitions of machines without children, in either contract; `__proto__` is a name like any other. */
export const definitions: fc.Arbitrary<object> = fc
  .record({
    strict: fc.boolean(),
    counts: fc.oneof(
      fc.tuple(fc.integer({ min: 2, max: 4 })),
      fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 4 }),
    ),
    names: fc.constantFrom(
      ["r0", "r1", "r2", "r3"],
      ["z", "a", "__proto__", "constructor"],
      ["b", "B", "é", "10"],
    ),
    transitions: fc.array(
      fc.record({
        from: place,
        to: fc.nat(9),
        on: fc.constantFrom(...EVENTS),
        guard: fc.option(guard, { freq: 2 }),
        timeout: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, fc.integer({ min: 1, max: 3 })),
      }),
      { minLength: 1, maxLength: 9 },
    ),
    joins: fc.array(
      fc.record({
        when: fc.array(place, { minLength: 1, maxLength: 2 }),
        target: place,
        level: fc.boolean(),
        actions: fc.array(action, { maxLength: 1 }),
      }),
      { maxLength: 5 },
    ),
    actions: fc.array(fc.record({ place, action }), { maxLength: 2 }),
    broadcast: fc.subarray([...EVENTS]),
  })
  .map(({ strict, counts, names, transitions, joins, actions, broadcast }) => {
    const parallel = counts.length > 1;
    const regions = counts.map((count, number) => ({
      id: parallel ? (names[number] as string) : "_",
      states: Array.from({ length: count }, (_, state) => `s${state}`),
    }));
    const of = (region: string) => (parallel ? { region } : {});
    const first = regions[0] as Region;
    return {
      machine_id: "random",
      ...(strict ? {} : { contract: SEED }),
      ...(parallel
        ? { regions: regions.map(({ id, states }) => ({ id, states, initial_state: states[0] })) }
        : { states: first.states, initial_state: first.states[0] }),
      transitions: transitions.map(({ from, to, on, guard: conditions, timeout }) => {
        const { region, state, states } = at(regions, from);
        const move = { ...of(region), from: state, to: states[to % states.length] };
        if (timeout !== null) return { ...move, on: "$timeout", guard: { timeout_seconds: timeout } };
        return { ...move, on, ...(conditions === null ? {} : { guard: conditions }) };
      }),
      actions: actions.map(({ place: entered, action: called }) => {
        const { region, state } = at(regions, entered);
        return { ...of(region), on_enter: state, action: called };
      }),
      ...(parallel
        ? {
            joins: joins.map(({ when, target, level, actions: called }) => {
              const { region, state } = at(regions, target);
              const holds = when
                .map((each) => at(regions, each))
                .map((each) => [each.region, each.state] as const);
              return {
                when: Object.fromEntries(holds),
                target_region: region,
                target_state: state,
                actions: called,
                ...(strict ? { trigger: level ? "level" : "edge" } : {}),
              };
            }),
            ...(strict ? { broadcast } : {}),
          }
        : {}),
    };
  });

type Loose = Record<string, unknown>;

/** Something that is done to a snapshot between two events. */
type Tampering = (snapshot: Loose, number: number) => unknown;

const entryOf = (snapshot: Loose, number: number): Loose => {
  const entries = Object.values(snapshot["region_entries"] as Loose) as Loose[];
  return entries[number % entries.length] as Loose;
};

const TAMPERINGS: readonly Tampering[] = [
  (snapshot) => snapshot,
  (snapshot) => JSON.parse(JSON.stringify(snapshot)),
  (snapshot) => structuredClone(snapshot),
  (snapshot) => Object.assign(Object.create(null), snapshot),
  (snapshot) => Object.fromEntries(Object.entries(snapshot).reverse()),
  (snapshot, number) => ({ ...snapshot, context: { b: number, a: -0, c: undefined } }),
  (snapshot, number) => ({ ...snapshot, state_version: number }),
  (snapshot) => ({ ...snapshot, tenant_id: "t", revision: 3, created_at: -5 }),
  (snapshot) => ({ ...snapshot, created_at: undefined }),
  (snapshot) => ({ ...snapshot, extra: { x: 1 } }),
  (snapshot) => ({ ...snapshot, children: undefined }),
  (snapshot) => ({ ...snapshot, children: null, instance: null, tenant_id: null }),
  (snapshot) => ({ ...snapshot, current_state: "elsewhere" }),
  (snapshot) => ({ ...snapshot, machine_id: "another" }),
  (snapshot) => ({ ...snapshot, entity_id: "ü \u{1F600}" }),
  (snapshot) => ({ ...snapshot, entity_id: ".." }),
  (snapshot) => ({ ...snapshot, updated_at: 1.5 }),
  (snapshot) => ({ ...snapshot, context: null }),
  (snapshot) => ({ ...snapshot, context: [1] }),
  (snapshot) => ({ ...snapshot, region_entries: {} }),
  (snapshot) => ({
    ...snapshot,
    region_entries: { ...(snapshot["region_entries"] as Loose), more: entryOf(snapshot, 0) },
  }),
  (snapshot, number) => tampered(snapshot, number, (entry) => ({ ...entry, seq: 7 + number, row: 5 })),
  (snapshot, number) => tampered(snapshot, number, (entry) => ({ ...entry, key: "made by hand", row: 0 })),
  (snapshot, number) =>
    tampered(snapshot, number, ({ state, seq, entered_at }) => ({ entered_at, seq, state })),
  (snapshot, number) =>
    tampered(snapshot, number, (entry) => ({ ...entry, due_at: Number(entry["entered_at"]) + 500 * number })),
  (snapshot, number) =>
    tampered(snapshot, number, (entry) => ({ ...entry, due_at: 5, parked: "it was refused" })),
  (snapshot, number) => tampered(snapshot, number, (entry) => ({ ...entry, seq: 0 })),
  (snapshot, number) => tampered(snapshot, number, (entry) => ({ ...entry, state: "nowhere" })),
  (snapshot, number) =>
    tampered(snapshot, number, (entry) => ({ ...entry, entered_at: -0, basis: "guessed" })),
];

function tampered(snapshot: Loose, number: number, change: (entry: Loose) => Loose): object {
  const entries = Object.entries(snapshot["region_entries"] as Loose) as [string, Loose][];
  const changed = entries.map(([id, entry], place) => [
    id,
    place === number % entries.length ? change(entry) : entry,
  ]);
  return { ...snapshot, region_entries: Object.fromEntries(changed) };
}

/** What is done to the snapshot, the event, and how much later it comes. */
export interface Happening {
  readonly tamper: (snapshot: object) => object;
  readonly event: string | { readonly type: string; readonly params?: Record<string, unknown> };
  readonly wait: number;
}

const tampers = fc
  .tuple(
    fc.oneof({ weight: 20, arbitrary: fc.nat(3) }, { weight: 3, arbitrary: fc.nat(TAMPERINGS.length - 1) }),
    fc.nat(4),
  )
  .map(([which, number]) => {
    const tampering = TAMPERINGS[which] as Tampering;
    return Object.assign((snapshot: object) => tampering(snapshot as Loose, number) as object, {
      [fc.toStringMethod]: () => `${tampering} (${number})`,
    });
  });

const events = fc
  .tuple(
    fc.oneof(
      { weight: 30, arbitrary: fc.constantFrom(...EVENTS) },
      fc.constantFrom("unknown", "$join", "$timeout", ""),
    ),
    fc.option(members, { nil: undefined }),
    fc.oneof(
      { weight: 3, arbitrary: fc.constant({}) },
      fc.record(
        {
          timestamp: fc.constantFrom(0, -0, 1, -5, 1_700_000_000_000, 1.5, 2 ** 53),
          expectedVersion: fc.constantFrom(1, 2, 3),
        },
        { requiredKeys: [] },
      ),
    ),
  )
  .map(([type, params, more]) => (params === undefined ? type : { type, params, ...more }));

/** What happens to an entity: a few events, again and again, so that it comes to where it was. */
export const histories: fc.Arbitrary<Happening[]> = fc
  .array(events, { minLength: 2, maxLength: 5 })
  .chain((pool) => {
    const happening = fc.record({
      tamper: tampers,
      event: fc.constantFrom(...pool),
      wait: fc.constantFrom(0, 0, 0, 0, 1, 400, 1000),
    });
    return fc.array(happening, { minLength: 5, maxLength: 60, size: "max" });
  });
