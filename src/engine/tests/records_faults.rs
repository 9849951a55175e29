//! State records with a fault at every batch, within every statement, and with rivals in the way.
//!
//! What is stored after each is compared to the byte with what an undisturbed run leaves, or another writer and this one in
//! turn (S0.22, S0.30, I1, I3, I7).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::rc::Rc;

use serde_json::{Value, json};
use support::START;
use support::faults::Fault;
use support::records::{Lab, Op, Told, meanwhile, moved, named, run, t1};

const ANY: [Option<&str>; 3] = [None, None, None];

/// A request to disturb.
#[derive(Clone)]
struct Case {
    name: String,
    op: Op,
    body: Value,
    key: Option<&'static str>,
    subscriptions: &'static [(&'static str, bool)],
    sends: bool,
}

impl Case {
    fn lab(&self) -> Lab {
        let mut lab = Lab::new();
        lab.sends = self.sends;
        for (id, active) in self.subscriptions {
            lab.subscribe(id, ANY, *active);
        }
        if self.op == Op::Move {
            lab.create("a").record();
        }
        lab.at(10);
        lab
    }

    fn run(&self, lab: &Lab) -> Told {
        match self.key {
            Some(key) => lab.keyed(key, self.op, &self.body),
            None => lab.call(self.op, &self.body),
        }
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let creation = json!({"machine": "task", "id": "a", "state": "open", "data": {"n": 1}});
    let mut given = moved("a", "open", "shut", 1);
    given["data"] = json!({"n": 2});
    let requests = [
        ("create", Op::Create, creation),
        ("move", Op::Move, moved("a", "open", "shut", 1)),
        ("move with data", Op::Move, given),
        ("stay", Op::Move, moved("a", "open", "open", 1)),
    ];
    let subscriptions: [&'static [(&'static str, bool)]; 3] =
        [&[], &[("s", true)], &[("s", true), ("t", false)]];
    for (name, op, body) in requests {
        for key in [None, Some("key")] {
            for subscriptions in subscriptions {
                for sends in [false, true] {
                    cases.push(Case {
                        name: format!(
                            "{name}, key {key:?}, {} subscriptions, sends {sends}",
                            subscriptions.len()
                        ),
                        op,
                        body: body.clone(),
                        key,
                        subscriptions,
                        sends,
                    });
                }
            }
        }
    }
    cases
}

#[test]
fn s0_30_i1_i3_a_fault_at_any_batch_leaves_record_and_event_exactly_once() {
    let mut checked = 0;
    for case in cases() {
        let undisturbed = case.lab();
        let before = undisturbed.stored();
        undisturbed.faulty.arm([]);
        let answer = case.run(&undisturbed);
        assert!(answer.status < 300, "{}: {}", case.name, answer.text);
        let after = undisturbed.stored();
        let batches = undisturbed.faulty.seen();
        assert_eq!(batches, 1, "{}", case.name);
        let all = [
            vec![(0, Fault::Before)],
            vec![(0, Fault::After)],
            vec![(0, Fault::Late)],
            vec![(0, Fault::Stray)],
            vec![(0, Fault::After), (1, Fault::Before)],
            vec![(0, Fault::After), (1, Fault::After)],
            vec![(0, Fault::Before), (1, Fault::After)],
            vec![(0, Fault::Before), (1, Fault::Stray), (2, Fault::Late)],
            vec![(0, Fault::Late), (1, Fault::After), (2, Fault::Before)],
            vec![(0, Fault::Stray), (1, Fault::Stray), (2, Fault::After)],
        ];
        for (number, faults) in all.into_iter().enumerate() {
            let what = format!("{}, faults {number}", case.name);
            let lab = case.lab();
            assert_eq!(lab.stored(), before);
            lab.faulty.arm(faults);
            let told = case.run(&lab);
            assert!(lab.faulty.struck(), "{what}");
            assert_eq!(told, answer, "{what}");
            assert_eq!(lab.stored(), after, "{what}");
            // What seemed lost arrives.
            lab.faulty.land();
            assert_eq!(lab.stored(), after, "{what}, later");
            checked += 1;
        }
    }
    assert_eq!(checked, 480);
}

#[test]
fn s0_26_s0_30_a_store_that_is_not_reached_is_told_so_and_nothing_is_half_written() {
    let mut texts = Vec::new();
    for case in cases().into_iter().filter(|case| case.sends) {
        let undisturbed = case.lab();
        case.run(&undisturbed);
        for fault in [Fault::Before, Fault::After, Fault::Stray] {
            let lab = case.lab();
            lab.clock.moves.set(true);
            let before = lab.stored();
            lab.faulty.arm((0..5_000).map(|place| (place, fault.clone())));
            let told = case.run(&lab);
            assert_eq!(
                told.code(),
                (500, "STATE_STORE".to_owned(), Value::Null),
                "{}",
                case.name
            );
            assert_eq!(told.json()["error"]["retry"], true);
            assert!(lab.faulty.seen() > 10, "it is tried again");
            let waited = lab.clock.now.get() - START - 10;
            assert!((10_000..11_000).contains(&waited), "{waited}");
            let landed = matches!(fault, Fault::After);
            assert_eq!(lab.stored() != before, landed, "{}", case.name);
            if landed {
                assert_eq!(lab.stored(), undisturbed.stored(), "{}", case.name);
            }
            texts.push(told.text);
        }
    }
    texts.dedup();
    assert!(
        texts[0].contains("the store of state records failed"),
        "{texts:?}"
    );
    let lab = Lab::new();
    lab.faulty.arm([(0, Fault::Before)]);
    assert_eq!(lab.call(Op::Get, &named("a")).code().1, "STATE_STORE");
}

#[test]
fn s0_30_i7_a_failure_within_any_statement_leaves_neither_record_nor_event() {
    for case in cases() {
        for (table, what) in [
            ("records", "INSERT"),
            ("records", "UPDATE"),
            ("outbox", "INSERT"),
            ("inbox", "INSERT"),
        ] {
            let lab = case.lab();
            let before = lab.stored();
            lab.sqlite.execute(&format!(
                "CREATE TEMP TRIGGER breaks AFTER {what} ON main.{table} BEGIN SELECT RAISE(ABORT, 'broken'); END"
            ));
            lab.clock.moves.set(true);
            let told = case.run(&lab);
            let writes = match (table, what) {
                ("inbox", _) => case.key.is_some(),
                (_, "UPDATE") | ("outbox", _) => case.op == Op::Move,
                _ => case.op == Op::Create,
            };
            if writes {
                assert_eq!(told.code().1, "STATE_STORE", "{}, {what} {table}", case.name);
                assert_eq!(lab.stored(), before, "{}, {what} {table}", case.name);
            } else {
                assert!(told.status < 300, "{}, {what} {table}: {}", case.name, told.text);
            }
        }
    }
}

fn rival_moves(lab: &Lab, body: &Value) -> Told {
    run(&lab.rival(), Op::Move, &t1(), body.to_string().as_bytes())
}

#[test]
fn s0_22_who_comes_second_is_refused_whatever_became_of_its_first_try() {
    for faults in [vec![], vec![(0, Fault::Before)]] {
        let lab = Rc::new(Lab::new());
        lab.create("a");
        let place = faults.len();
        let rival = meanwhile(&lab, place, |lab| {
            rival_moves(lab, &moved("a", "open", "taken", 1)).event_id();
        });
        lab.faulty.arm(faults.into_iter().chain([rival]));
        let told = lab.call(Op::Move, &moved("a", "open", "mine", 1));
        assert!(lab.faulty.struck());
        assert_eq!(told.code(), (409, "STATE_CONFLICT".to_owned(), json!("version")));
        assert_eq!(told.json()["error"]["current"]["state"], "taken");
        assert_eq!(lab.sqlite.count("outbox"), 1);
    }
}

#[test]
fn s0_13_of_two_who_make_a_record_one_is_told_that_it_exists() {
    let lab = Rc::new(Lab::new());
    let body = |state: &str| json!({"machine": "task", "id": "a", "state": state});
    lab.faulty.arm([
        (0, Fault::Before),
        meanwhile(&lab, 1, move |lab| {
            let theirs = body("theirs").to_string();
            assert_eq!(
                run(&lab.rival(), Op::Create, &t1(), theirs.as_bytes()).status,
                201
            );
        }),
    ]);
    let told = lab.call(Op::Create, &body("mine"));
    assert_eq!(told.code().1, "STATE_EXISTS");
    assert_eq!(told.json()["error"]["current"]["state"], "theirs");
}

#[test]
fn s0_22_of_n_actors_who_race_exactly_one_wins() {
    const ACTORS: u64 = 8;
    const MOVES: u64 = 40;
    let folder = std::env::temp_dir().join(format!("statewright-records-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("race.db");
    let open = {
        let path = path.clone();
        move |seed: u64| {
            let sqlite = support::Sqlite::new();
            let connection = rusqlite::Connection::open(&path).unwrap();
            connection
                .busy_timeout(std::time::Duration::from_secs(60))
                .unwrap();
            connection
                .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
                .unwrap();
            *sqlite.connection.borrow_mut() = connection;
            Lab::over(sqlite, u128::from(seed) << 64 | 7)
        }
    };
    let first = open(0);
    first.create("a");
    first.subscribe("s", ANY, true);
    let gate = std::sync::Barrier::new(ACTORS.try_into().unwrap());
    let race = |actor: u64| {
        let lab = open(actor);
        gate.wait();
        let mut wins = Vec::new();
        for version in 1..=MOVES {
            let mut body = moved("a", "open", "open", version);
            body["data"] = json!(actor);
            // Every other one knows its requests by keys.
            let told = if actor.is_multiple_of(2) {
                lab.keyed(&format!("{actor}-{version}"), Op::Move, &body)
            } else {
                lab.call(Op::Move, &body)
            };
            if told.status == 200 {
                wins.push((version, told.event_id()));
            } else {
                assert_eq!(told.code().1, "STATE_CONFLICT", "{}", told.text);
                // Whoever lost against an older version waits for the one that is to come.
                let found = (0..1_000_000).find(|_| {
                    std::thread::yield_now();
                    let record = lab.call(Op::Get, &named("a")).json()["record"].clone();
                    record["version"].as_u64().unwrap() > version
                });
                assert!(found.is_some(), "nobody wins");
            }
        }
        wins
    };
    let mut wins: Vec<_> = std::thread::scope(|scope| {
        let actors: Vec<_> = (1..=ACTORS)
            .map(|actor| scope.spawn(move || race(actor)))
            .collect();
        actors
            .into_iter()
            .flat_map(|actor| actor.join().unwrap())
            .collect()
    });
    wins.sort();
    let expected: Vec<_> = first
        .rows("SELECT json_array(version - 1, event_id) FROM outbox ORDER BY version")
        .iter()
        .map(|row| (row[0].as_u64().unwrap(), row[1].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(wins, expected);
    assert_eq!(
        wins.iter().map(|(version, _)| *version).collect::<Vec<_>>(),
        (1..=MOVES).collect::<Vec<_>>()
    );
    drop(first);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn s0_16_a_move_whose_answer_was_lost_is_known_again_whatever_came_after_it() {
    for key in [None, Some("key")] {
        for data in [None, Some(json!("mine"))] {
            for theirs in [None, Some(json!("theirs"))] {
                let lab = Rc::new(Lab::new());
                lab.subscribe("s", ANY, true);
                lab.create("a");
                lab.at(10);
                let mut body = moved("a", "open", "mine", 1);
                if let Some(data) = &data {
                    body["data"] = data.clone();
                }
                let mut rival = moved("a", "mine", "theirs", 2);
                if let Some(theirs) = &theirs {
                    rival["data"] = theirs.clone();
                }
                let comes = meanwhile(&lab, 1, move |lab| {
                    lab.at(20);
                    assert_eq!(rival_moves(lab, &rival).record()["version"], 3);
                });
                lab.faulty.arm([(0, Fault::After), comes]);
                let told = match key {
                    Some(key) => lab.keyed(key, Op::Move, &body),
                    None => lab.call(Op::Move, &body),
                };
                let what = format!("{key:?} {data:?} {theirs:?}: {}", told.text);
                let rows = lab.rows("SELECT json_array(version, event_id) FROM outbox ORDER BY version");
                assert_eq!(rows.len(), 2, "{what}");
                assert_eq!(rows[0], json!([2, told.event_id()]), "{what}");
                assert_eq!(told.replayed, key.is_some(), "{what}");
                let made = json!({"machine": "task", "id": "a", "state": "mine", "version": 2,
                    "data": data.clone().unwrap_or(json!({"n": 1})), "created_at": START, "updated_at": START + 10});
                let found = lab.call(Op::Get, &named("a")).json()["record"].clone();
                assert_eq!(found["version"], 3);
                // Data that was kept, and that nobody remembers, is told with the version that it is of.
                let lost = key.is_none() && data.is_none();
                assert_eq!(told.record(), if lost { found } else { made }, "{what}");
            }
        }
    }
}

#[test]
fn s0_12_a_creation_whose_answer_was_lost_is_known_again_whatever_came_after_it() {
    for key in [None, Some("key")] {
        let lab = Rc::new(Lab::new());
        let mut rival = moved("a", "open", "theirs", 1);
        rival["data"] = json!("theirs");
        let comes = meanwhile(&lab, 1, move |lab| {
            lab.at(20);
            rival_moves(lab, &rival).event_id();
        });
        lab.faulty.arm([(0, Fault::After), comes]);
        let body = json!({"machine": "task", "id": "a", "state": "open", "data": "mine"});
        let told = match key {
            Some(key) => lab.keyed(key, Op::Create, &body),
            None => lab.call(Op::Create, &body),
        };
        let made = json!({"machine": "task", "id": "a", "state": "open", "version": 1, "data": "mine",
            "created_at": START, "updated_at": START});
        assert_eq!(told.record(), made);
        assert_eq!(lab.call(Op::Get, &named("a")).json()["record"]["version"], 2);
    }
}

#[test]
fn s0_51_who_subscribes_between_two_tries_is_not_told_of_what_the_first_committed() {
    for key in [None, Some("key")] {
        for before in [&[][..], &["s"][..]] {
            let lab = Rc::new(Lab::new());
            lab.create("a");
            for id in before {
                lab.subscribe(id, ANY, true);
            }
            let subscribes = meanwhile(&lab, 1, |lab| {
                lab.sqlite.execute("DELETE FROM subscriptions");
                lab.subscribe("later", ANY, true);
            });
            lab.faulty.arm([(0, Fault::After), subscribes]);
            let body = moved("a", "open", "open", 1);
            let told = match key {
                Some(key) => lab.keyed(key, Op::Move, &body),
                None => lab.call(Op::Move, &body),
            };
            assert!(lab.faulty.struck());
            assert_eq!(told.record()["version"], 2);
            let rows = lab.rows("SELECT json_array(subscription) FROM outbox");
            assert_eq!(rows, [json!([before.first()])]);
        }
    }
}
