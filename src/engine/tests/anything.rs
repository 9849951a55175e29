//! Any bytes at any entry point give a typed error or an answer: no panic, no 500, no hang (I10).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use serde_json::{Map, Number, Value, json};
use statewright_core::ids::TenantId;
use statewright_engine::history::HistoryQuery;
use statewright_engine::page::Paging;
use statewright_engine::request::tenant_id;
use statewright_engine::{EntityQuery, error::Error};
use support::block_on;
use support::world::{World, clocked, create, jammed, order, register, reply, t1};

/// Numbers that repeat from run to run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 31
    }

    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.next() % most as u64).unwrap()
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// A text: a name that means something, or one that no one expects.
    fn text(&mut self) -> String {
        const KNOWN: [&str; 32] = [
            "order",
            "clocked",
            "jammed",
            "e",
            "f",
            "new",
            "id",
            "pay",
            "ship",
            "note",
            "go",
            "back",
            "pending",
            "paid",
            "_",
            "a",
            "b",
            "x",
            "y",
            "z",
            "idle",
            "on",
            "$timeout",
            "$join",
            "follow",
            "pin",
            "statewright.v1",
            "statemachine-e1e4.v1",
            "level",
            "eq",
            "evt",
            "t1",
        ];
        const ODD: [&str; 18] = [
            "",
            "\0",
            "a\0b",
            "\n",
            "\u{7f}",
            "\u{1}",
            "'; DROP TABLE entities; --",
            "%",
            "?1",
            "\u{10ffff}",
            "ä",
            "e\u{301}",
            "\u{feff}",
            "\u{202e}",
            "null",
            "NaN",
            "1e309",
            "-0",
        ];
        match self.below(8) {
            0..=4 => self.of(&KNOWN).to_owned(),
            5 => self.of(&ODD).to_owned(),
            6 => self
                .of(&["x", "é", "😀", "\"", "\\", "\u{1}"])
                .repeat(1 + self.below(400)),
            _ => (0..self.below(12))
                .map(|_| {
                    char::from_u32(u32::try_from(self.next() % 0x11_0000).unwrap()).unwrap_or('\u{fffd}')
                })
                .collect(),
        }
    }

    fn number(&mut self) -> Value {
        match self.below(8) {
            0 => json!(self.below(5)),
            1 => json!(-1),
            2 => json!(i64::MAX),
            3 => json!(u64::MAX),
            4 => json!(i64::MIN),
            5 => json!((1_i64 << 53) + 1),
            6 => Number::from_f64(self.of(&[&0.5, &-0.0, &1e308, &5e-324, &1.7e18]).to_owned())
                .map_or(Value::Null, Value::Number),
            _ => json!(self.next()),
        }
    }

    fn value(&mut self, depth: usize) -> Value {
        const KEYS: [&str; 34] = [
            "machine_id",
            "states",
            "initial_state",
            "transitions",
            "from",
            "to",
            "on",
            "guard",
            "regions",
            "id",
            "region",
            "joins",
            "when",
            "target_region",
            "target_state",
            "timeout_seconds",
            "after_ms",
            "field",
            "op",
            "value",
            "all",
            "any",
            "broadcast",
            "contract",
            "label",
            "actions",
            "event_type",
            "entity_key",
            "params",
            "timestamp",
            "expected_version",
            "dry_run",
            "explain",
            "events",
        ];
        match self.below(if depth == 0 { 6 } else { 9 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 | 3 => self.number(),
            4 | 5 => Value::String(self.text()),
            6 => (0..self.below(5)).map(|_| self.value(depth - 1)).collect(),
            _ => {
                let mut object = Map::new();
                for _ in 0..self.below(6) {
                    let key = if self.below(3) == 0 {
                        self.text()
                    } else {
                        self.of(&KEYS).to_owned()
                    };
                    object.insert(key, self.value(depth - 1));
                }
                Value::Object(object)
            }
        }
    }

    /// Changes something somewhere in a JSON value.
    fn change(&mut self, value: &mut Value) {
        match value {
            Value::Array(items) if !items.is_empty() && self.below(5) > 0 => {
                let place = self.below(items.len());
                match self.below(8) {
                    0 => drop(items.remove(place)),
                    1 => items.push(items[place].clone()),
                    _ => self.change(&mut items[place]),
                }
            }
            Value::Object(object) if !object.is_empty() && self.below(5) > 0 => {
                let keys: Vec<String> = object.keys().cloned().collect();
                let key = &keys[self.below(keys.len())];
                match self.below(8) {
                    0 => drop(object.remove(key)),
                    1 => drop(object.insert(self.text(), self.value(2))),
                    _ => self.change(&mut object[key]),
                }
            }
            other => *other = self.value(2),
        }
    }

    /// A body: a good one with changes, some JSON, or bytes.
    fn body(&mut self, good: &Value) -> Vec<u8> {
        let mut bytes = match self.below(6) {
            0 => {
                return (0..self.below(60))
                    .map(|_| self.next().to_le_bytes()[0])
                    .collect();
            }
            1 => self.value(4).to_string().into_bytes(),
            _ => {
                let mut body = good.clone();
                for _ in 0..self.below(4) {
                    self.change(&mut body);
                }
                body.to_string().into_bytes()
            }
        };
        if self.below(12) == 0 && !bytes.is_empty() {
            // Cut, or with one byte that does not belong there.
            let place = self.below(bytes.len());
            if self.below(2) == 0 {
                bytes.truncate(place);
            } else {
                bytes[place] = self.next().to_le_bytes()[0];
            }
        }
        bytes
    }

    fn maybe(&mut self) -> Option<String> {
        (self.below(2) == 0).then(|| self.text())
    }

    /// A cursor: hexadecimal of some JSON, or no cursor at all.
    fn cursor(&mut self) -> Option<String> {
        match self.below(4) {
            0 => None,
            1 => Some(self.text()),
            _ => {
                let json = match self.below(4) {
                    0 => json!([self.number(), self.text()]),
                    1 => json!([self.number(), self.number()]),
                    2 => json!(self.text()),
                    _ => self.value(2),
                };
                Some(
                    json.to_string()
                        .bytes()
                        .map(|byte| format!("{byte:02x}"))
                        .collect::<Vec<_>>()
                        .concat(),
                )
            }
        }
    }

    fn paging(&mut self) -> Paging {
        let limit = match self.below(4) {
            0 => self.maybe(),
            1 => Some(self.number().to_string()),
            2 => Some("2".to_owned()),
            _ => None,
        };
        Paging {
            limit,
            cursor: self.cursor(),
        }
    }
}

/// One operation with whatever comes; its name, its input and its status.
fn anything(world: &World, chance: &mut Chance) -> (String, u16, Value) {
    let engine = &world.engine;
    let tenant: TenantId = tenant_id("X-Tenant-Id", &chance.text()).unwrap_or_else(|_| t1());
    let tenant = if chance.below(3) == 0 { tenant } else { t1() };
    let (machine, entity) = (chance.text(), chance.text());
    let (machine, entity) = match chance.below(3) {
        0 => (machine, entity),
        1 => (chance.of(&["order", "clocked", "jammed"]).to_owned(), entity),
        _ => (
            chance.of(&["order", "clocked", "jammed"]).to_owned(),
            chance.of(&["e", "f", "new"]).to_owned(),
        ),
    };
    let event = json!({"event_type": chance.of(&["pay", "note", "go", "back", "all"]), "entity_key": "id",
        "params": {"id": "e", "n": 1, "key_prefix": "t1"}, "timestamp": chance.below(9), "dispatch": true,
        "expected_version": null, "target": [], "dry_run": false, "explain": true});
    let definition = match chance.below(3) {
        0 => order(),
        1 => clocked(),
        _ => jammed(),
    };
    let header = (chance.below(4) > 0).then_some(&tenant);
    let what = chance.below(22);
    let body = match what {
        0..=2 => chance.body(&definition),
        4 => chance.body(&json!({"events": [event, event, 5]})),
        5 => chance.body(&json!({"entity_id": "f", "context": {"a": [1]}})),
        _ => chance.body(&event),
    };
    let list = EntityQuery {
        state: chance.maybe(),
        region: chance.maybe(),
        updated_since: chance.maybe(),
        updated_before: chance.maybe(),
        prefix: chance.maybe(),
        paging: chance.paging(),
    };
    let pages = HistoryQuery {
        order: chance.maybe(),
        paging: chance.paging(),
    };
    let (format, in_flight, marked) = (chance.maybe(), chance.maybe(), chance.maybe());
    let seen = format!(
        "operation {what} of {tenant:?} {machine:?} {entity:?} {list:?} {pages:?} {format:?} {in_flight:?} {}",
        String::from_utf8_lossy(&body)
    );
    let (status, answer) = match what {
        0 => reply(201, block_on(engine.create_machine(&tenant, &body))),
        1 => reply(
            200,
            block_on(engine.put_machine(&tenant, &machine, &body, in_flight.as_deref())),
        ),
        2 => reply(200, block_on(engine.validate(header, &body))),
        3 => reply(200, block_on(engine.evaluate(header, &machine, &body))),
        4 => reply(200, block_on(engine.evaluate_batch(header, &machine, &body))),
        5 => reply(201, block_on(engine.create_entity(&tenant, &machine, &body))),
        6 => reply(
            200,
            block_on(engine.transition(&tenant, &machine, &entity, &body)),
        ),
        7 => reply(200, block_on(engine.explain(&tenant, &machine, &entity, &body))),
        8 => reply(200, block_on(engine.events(&tenant, &machine, &entity))),
        9 => reply(200, block_on(engine.get_entity(&tenant, &machine, &entity))),
        10 => reply(
            200,
            block_on(engine.list_entities(&tenant, &machine, &list)).map(|page| page.items),
        ),
        11 => reply(
            200,
            block_on(engine.history(&tenant, &machine, &entity, &pages)).map(|page| page.items),
        ),
        12 => reply(
            200,
            block_on(engine.list_machines(&tenant, &list.paging)).map(|page| page.items),
        ),
        13 => reply(
            200,
            block_on(engine.revisions(&tenant, &machine, &list.paging)).map(|page| page.items),
        ),
        14 => reply(
            200,
            block_on(engine.diagram(&tenant, &machine, format.as_deref(), marked.as_deref())),
        ),
        15 => reply(200, block_on(engine.counts(&tenant, &machine))),
        16 => reply(200, block_on(engine.get_machine(&tenant, &machine))),
        17 => reply(200, block_on(engine.release_timers(&tenant, &machine, &entity))),
        18 => reply(200, block_on(engine.scheduler(&tenant))),
        19 if chance.below(4) == 0 => reply(204, block_on(engine.delete_machine(&tenant, &machine))),
        20 if chance.below(4) == 0 => reply(204, block_on(engine.delete_entity(&tenant, &machine, &entity))),
        _ => reply(200, block_on(engine.tick())),
    };
    (seen, status, answer)
}

#[test]
fn i10_anything_gives_an_answer_or_a_typed_error() {
    let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
    for seed in 0..40 {
        let mut chance = Chance(seed * 7919 + 1);
        let world = World::new();
        for definition in [order(), clocked(), jammed()] {
            register(&world.other, &definition);
        }
        for machine in ["order", "clocked", "jammed"] {
            create(&world.other, machine, "e");
        }
        let mut now = 0;
        for _ in 0..400 {
            now += i64::try_from(chance.below(2_000)).unwrap();
            world.at(now);
            world.clock.waits.set(0);
            let (seen, status, answer) = anything(&world, &mut chance);
            *statuses.entry(status).or_default() += 1;
            assert_ne!(status, 500, "seed {seed}: {seen}\n{answer}");
            if status >= 400 {
                let error = &answer["error"];
                let typed =
                    error["code"].is_string() && error["message"].is_string() && error["retry"].is_boolean();
                assert!(typed, "seed {seed}: {seen}\n{answer}");
            }
            for result in answer["results"].as_array().into_iter().flatten() {
                let text = result["error"].as_str().unwrap_or_default();
                let failed = text.starts_with("INTERNAL") || text.starts_with("CORRUPT");
                assert!(!failed, "seed {seed}: {seen}\n{answer}");
            }
        }
        // What came of it holds together, and everything that is there can be read.
        world.stored();
        let report = block_on(world.engine.tick()).unwrap();
        assert_eq!(report.failed, 0, "seed {seed}: {report:?}");
    }
    println!("{statuses:?}");
    for status in [200, 201, 204, 400, 404, 409] {
        assert!(
            statuses.get(&status).is_some_and(|count| *count >= 10),
            "it says little: {statuses:?}"
        );
    }
}

fn created(body: &str) -> Result<(), Error> {
    let world = World::new();
    block_on(world.engine.create_machine(&t1(), body.as_bytes())).map(drop)
}

#[test]
fn i10_depth_and_size_are_bounded_and_not_by_the_stack() {
    let world = World::new();
    register(&world.other, &order());
    let nested =
        |open: &str, close: &str, depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
    for depth in [10, 100, 127, 128, 1_000, 100_000] {
        let params = nested("{\"a\":", "}", depth);
        let body = format!(
            r#"{{"event_type": "pay", "entity_key": "id", "params": {{"id": "e", "deep": {params}}}}}"#
        );
        let answer = block_on(world.engine.evaluate(Some(&t1()), "order", body.as_bytes()));
        assert!(
            answer.map_or_else(|error| error.status() == 400, |_| depth < 128),
            "{depth}"
        );
        let guard = nested("{\"all\":[", "]}", depth);
        let body = format!(
            r#"{{"machine_id": "m", "states": ["s"], "initial_state": "s", "transitions": [{{"from": "s", "to": "s", "on": "e", "guard": {guard}}}]}}"#
        );
        assert_eq!(created(&body).unwrap_err().status(), 400, "{depth}");
    }
    // What was stored as deep as it may be can be read again.
    let query = HistoryQuery::default();
    assert!(
        !block_on(world.engine.history(&t1(), "order", "e", &query))
            .unwrap()
            .items
            .is_empty()
    );
    block_on(world.engine.get_entity(&t1(), "order", "e")).unwrap();
    block_on(
        world
            .engine
            .list_entities(&t1(), "order", &EntityQuery::default()),
    )
    .unwrap();
    let large = vec![b' '; 1024 * 1024 + 1];
    let error = block_on(world.engine.evaluate(Some(&t1()), "order", &large)).unwrap_err();
    assert_eq!((error.status(), error.code().name()), (413, "PAYLOAD_TOO_LARGE"));
}
