//! Requests with a key that are disturbed: twins at the same time, answers that are lost, processes that are killed at any
//! of their awaits (S4.90 to S4.94, S4.106, S4.107, S4.112; I1, I3).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::json;
use support::far::Chance;
use support::faults::{Fault, Faulty};
use support::keyed::{Op, Told, ops, plainly, served};
use support::outside::{Place, Running, run, run_all, run_for};

fn receipts(place: &Place) -> i64 {
    place.number("SELECT count(*) FROM inbox").unwrap()
}

/// What the operation leaves where nothing is wrong, and what it tells.
fn clean(op: &Op) -> (String, Told) {
    let place = op.place();
    let told = op.request(&place);
    (op.probed(&place), told)
}

fn assert_once(op: &Op, place: &Place, expected: &(String, Told), what: &str) {
    assert_eq!(op.probed(place), expected.0, "{}: {what}", op.name);
    assert_eq!(receipts(place), 1, "{}: {what}: one receipt", op.name);
    let dump = place.sqlite.dump();
    let again = op.request(place);
    assert!(again.replayed, "{}: {what}: {again:?}", op.name);
    assert_eq!(plainly(&again), plainly(&expected.1), "{}: {what}", op.name);
    assert_eq!(
        place.sqlite.dump(),
        dump,
        "{}: {what}: and its replay nothing",
        op.name
    );
}

/// Whatever comes between its batches, the same as without.
fn same(one: &Told, other: &Told) -> bool {
    plainly(one) == plainly(other)
}

#[test]
fn s4_90_a_twin_that_comes_between_has_the_effect_and_both_get_its_answer() {
    for op in ops() {
        let expected = clean(&op);
        for batch in 0..op.batches().len() {
            let place = Rc::new(op.place());
            let faulty = Faulty::new(place.sqlite.clone());
            let first: Rc<RefCell<Option<Told>>> = Rc::default();
            let (twin, there) = (Rc::clone(&first), Rc::clone(&place));
            faulty.arm([(
                batch,
                Fault::Meanwhile(Rc::new(move || {
                    // Another process, on a clock of its own that stands where this one's does.
                    let other = Place::over(there.sqlite.clone());
                    other.clock.set(there.clock.at());
                    other.settings.replace(there.settings.borrow().clone());
                    *twin.borrow_mut() = Some(op.request(&other));
                })),
            )]);
            let second = op.request_on(&place, &faulty, Some("k"), &op.bytes());
            let first = first.take().unwrap();
            let what = format!("a twin before batch {batch}");
            assert!(
                !first.replayed && second.replayed,
                "{}: {what}: {first:?} {second:?}",
                op.name
            );
            assert_eq!(first.status, second.status, "{}: {what}", op.name);
            assert!(same(&first, &second), "{}: {what}: {first:?} {second:?}", op.name);
            assert_once(&op, &place, &expected, &what);
        }
    }
}

#[test]
fn s4_90_sixteen_twins_at_once_have_one_effect_and_one_answer() {
    for (number, op) in ops().into_iter().enumerate() {
        let expected = clean(&op);
        let place = op.place();
        let chance = Chance::of(u64::try_from(number).unwrap());
        let faulty = Faulty::new(place.sqlite.clone());
        let body = op.bytes();
        let engines: Vec<_> = (0..16)
            .map(|_| op.engine(&place, &faulty, Some("k"), &body))
            .collect();
        let requests = engines.iter().map(|engine| -> Running<'_, Told> {
            let body = body.clone();
            Box::pin(async move {
                let outcome = (op.run)(engine, body).await;
                served(engine, outcome).await
            })
        });
        let told = run_all(&place.clock, requests.collect(), |open| {
            usize::try_from(chance.below(u64::try_from(open).unwrap())).unwrap()
        });
        assert_eq!(
            told.iter().filter(|one| !one.replayed).count(),
            1,
            "{}: {told:?}",
            op.name
        );
        for one in &told {
            assert!(
                same(one, &expected.1),
                "{}: {one:?}, not {:?}",
                op.name,
                expected.1
            );
        }
        assert_once(&op, &place, &expected, "sixteen twins");
    }
}

#[test]
fn s4_112_an_answer_of_the_database_that_is_lost_is_found_again() {
    for op in ops() {
        let expected = clean(&op);
        for (batch, writes) in op.batches().into_iter().enumerate() {
            for (kind, fault) in [
                ("lost", Fault::After),
                ("late", Fault::Late),
                ("stray", Fault::Stray),
                ("failed", Fault::Before),
            ] {
                let what = format!("batch {batch} {kind}");
                let place = op.place();
                let faulty = Faulty::new(place.sqlite.clone());
                faulty.arm([(batch, fault)]);
                let told = op.request_on(&place, &faulty, Some("k"), &op.bytes());
                assert!(faulty.struck(), "{}: {what}", op.name);
                faulty.land();
                if told.status >= 500 {
                    // What cannot be read, or be known, is to be sent again.
                    let retry = &told.body.as_ref().unwrap()["error"]["retry"];
                    assert_eq!(*retry, true, "{}: {what}: {told:?}", op.name);
                    assert!(!writes || receipts(&place) < 2, "{}: {what}", op.name);
                    let again = op.request(&place);
                    assert!(same(&again, &expected.1), "{}: {what}: {again:?}", op.name);
                } else {
                    assert!(
                        same(&told, &expected.1),
                        "{}: {what}: {told:?}, not {:?}",
                        op.name,
                        expected.1
                    );
                }
                assert_once(&op, &place, &expected, &what);
            }
        }
    }
}

#[test]
fn s4_107_whoever_is_killed_wherever_the_next_try_has_one_effect() {
    for op in ops() {
        let expected = clean(&op);
        let mut kills = 0;
        for polls in 1.. {
            let place = op.place();
            let faulty = Faulty::new(place.sqlite.clone());
            let body = op.bytes();
            let engine = op.engine(&place, &faulty, Some("k"), &body);
            let request = async {
                let outcome = (op.run)(&engine, body.clone()).await;
                served(&engine, outcome).await
            };
            if run_for(&place.clock, request, polls).is_some() {
                break;
            }
            kills += 1;
            let what = format!("killed after {polls} polls");
            assert!(receipts(&place) <= 1);
            // The effect and its receipt are there together or not at all.
            let again = op.request(&place);
            assert!(same(&again, &expected.1), "{}: {what}: {again:?}", op.name);
            assert_once(&op, &place, &expected, &what);
        }
        assert!(kills >= 2, "{}", op.name);
    }
}

#[test]
fn s4_107_another_payload_after_a_kill_is_refused_or_the_only_effect() {
    for op in ops() {
        let mut other = (op.body)();
        other["more"] = json!(1);
        let other = other.to_string();
        // What it does without anyone before it.
        let alone = op.place();
        let faulty = Faulty::new(alone.sqlite.clone());
        let by_itself = op.request_on(&alone, &faulty, Some("k"), other.as_bytes());
        if by_itself.status == 400 {
            continue;
        }
        let (of_other, of_first) = (op.probed(&alone), clean(&op).0);
        for polls in 1.. {
            let place = op.place();
            let faulty = Faulty::new(place.sqlite.clone());
            let body = op.bytes();
            let engine = op.engine(&place, &faulty, Some("k"), &body);
            let request = async {
                let outcome = (op.run)(&engine, body.clone()).await;
                served(&engine, outcome).await
            };
            if run_for(&place.clock, request, polls).is_some() {
                break;
            }
            let answer = op.request_on(&place, &faulty, Some("k"), other.as_bytes());
            let probed = op.probed(&place);
            if answer.code() == "IDEMPOTENCY_MISMATCH" {
                assert_eq!(probed, of_first, "{}: {polls}", op.name);
            } else {
                assert_eq!(
                    answer.status, by_itself.status,
                    "{}: {polls}: {answer:?}",
                    op.name
                );
                assert_eq!(probed, of_other, "{}: {polls}", op.name);
            }
            assert_eq!(receipts(&place), 1, "{}: {polls}", op.name);
        }
    }
}

#[test]
fn i1_many_over_a_bad_line_with_a_key_each_have_one_effect_each() {
    use statewright_engine::once::Once;
    use statewright_engine::{DefinitionCache, Engine};
    use support::far::FarAway;
    use support::outside::Timed;
    use support::world::t1;
    for seed in 0..30 {
        let place = Place::new();
        place.register(&support::world::order());
        let far = FarAway {
            inner: place.sqlite.clone(),
            chance: Chance::of(seed),
            mishaps: 8,
            on_their_way: Rc::default(),
        };
        let clock: &Timed = &place.clock;
        let body = |key: u64| {
            json!({"event_type": "note", "entity_key": "id", "params": {"id": format!("e{}", key % 2), "by": key}})
                .to_string()
        };
        // Eight clients with a key each, who send again until they are answered.
        let clients = (0..8_u64).map(|key| -> Running<'_, ()> {
            let (far, body) = (far.clone(), body(key));
            Box::pin(async move {
                for attempt in 0..50_u64 {
                    let once =
                        Once::request(&format!("k{key}"), "POST /x", "", body.as_bytes(), 200).unwrap();
                    let random = support::Counted::from(u128::from(seed * 10_000 + key * 100 + attempt + 7));
                    let engine = Engine::new(far.clone(), clock.clone(), random, DefinitionCache::default())
                        .keyed(once, Some(&t1()));
                    match engine.evaluate(Some(&t1()), "order", body.as_bytes()).await {
                        Ok(_) | Err(statewright_engine::error::Error::Replayed(_)) => return,
                        Err(error) => assert!(error.code().retry(), "{error:?}"),
                    }
                    clock.turn().await;
                }
                panic!("it is never answered");
            })
        });
        let chance = Chance::of(seed + 999);
        run_all(clock, clients.collect(), |open| {
            usize::try_from(chance.below(u64::try_from(open).unwrap())).unwrap()
        });
        far.arrive(1_000);
        for key in 0..8 {
            let sql = format!("SELECT count(*) FROM history WHERE event_params->>'by' = {key}");
            assert_eq!(place.number(&sql), Some(1), "seed {seed}: the event of key {key}");
        }
        assert_eq!(receipts(&place), 8, "seed {seed}");
        run(clock, async {});
    }
}
