//! What the schema itself refuses, whoever writes; and how a database comes to its schema (design 3, I2, I3; S2.109,
//! S2.144, S2.296).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

mod support;

use std::fs;
use std::rc::Rc;

use statewright_engine::database::{DatabaseError, Statement};
use statewright_engine::schema::{MIGRATIONS, SCHEMA_VERSION, statements};
use statewright_engine::{DefinitionCache, Engine};
use support::families::{chain, make, register_all};
use support::faults::{Fault, Faulty, reads};
use support::world::{World, create, delete, delete_machine, order, put, register, wider};
use support::{Counted, Sqlite, TestClock, block_on};

/// A write of an entity as the engine does it: an upsert.
macro_rules! upsert {
    ($entity:literal, $uid:literal, $revision:literal, $version:literal) => {
        concat!(
            "INSERT INTO entities VALUES ('t1', 'order', '",
            $entity,
            "', '",
            $uid,
            "', ",
            $revision,
            ", ",
            $version,
            ", 2, '{}', '{}', 0, 0) ON CONFLICT DO UPDATE SET uid = excluded.uid, revision = excluded.revision, \
             state_version = excluded.state_version"
        )
    };
}

/// Two revisions of `order`, of which the second superseded the first; an entity `e` at version 1, known as `u`.
fn world() -> Rc<World> {
    let world = World::new();
    assert_eq!(register(&world.other, &order()).0, 201);
    create(&world.other, "order", "e");
    assert_eq!(put(&world.other, &wider(order()), "follow").0, 200);
    world.sqlite.execute("DROP TRIGGER entities_moved");
    world.sqlite.execute("UPDATE entities SET uid = 'u'");
    world.sqlite.execute("UPDATE entries SET uid = 'u'");
    let moved = statements(MIGRATIONS[0])
        .find(|sql| sql.contains("CREATE TRIGGER entities_moved"))
        .unwrap();
    world.sqlite.connection.borrow().execute_batch(moved).unwrap();
    world
}

/// Runs a statement after another that would succeed; what they stored, or why nothing was.
fn run(world: &World, sql: &'static str) -> Result<(), String> {
    let before = world.sqlite.dump();
    let other = "INSERT INTO rearms SELECT 't1', 'order', 1 + coalesce(max(revision), 0), '' FROM rearms";
    let outcome = world
        .sqlite
        .run(&[Statement::new(other, []), Statement::new(sql, [])]);
    match outcome {
        Ok(_) => Ok(()),
        Err(DatabaseError::Constraint(message)) => {
            assert_eq!(
                world.sqlite.dump(),
                before,
                "{sql}: a part of its batch was stored"
            );
            Err(message)
        }
        Err(DatabaseError::Uncertain(message)) => panic!("{sql}: {message}"),
    }
}

#[test]
fn i2_the_next_version_of_an_entity_that_is_there_is_stored() {
    for sql in [upsert!("e", "u", "2", "2"), upsert!("new", "n", "2", "1")] {
        assert_eq!(run(&world(), sql), Ok(()), "{sql}");
    }
}

#[test]
fn i2_i3_r17_every_wrong_write_aborts_its_batch() {
    let wrong = [
        (
            upsert!("e", "u", "2", "3"),
            "the entity moved",
            "a version is left out",
        ),
        (
            upsert!("e", "u", "2", "1"),
            "the entity moved",
            "the version it has",
        ),
        (upsert!("e", "u", "2", "0"), "CHECK", "a version that none has"),
        (
            upsert!("e", "other", "2", "2"),
            "the entity moved",
            "of another incarnation",
        ),
        (
            upsert!("e", "other", "2", "1"),
            "the entity moved",
            "made where one is",
        ),
        (
            upsert!("gone", "g", "2", "2"),
            "the entity is gone",
            "brought back by an upsert",
        ),
        (
            upsert!("e", "u", "1", "2"),
            "the revision moved",
            "by a revision that was superseded",
        ),
        (
            upsert!("e", "u", "3", "2"),
            "the revision moved",
            "by a revision that is none",
        ),
        (
            upsert!("new", "n", "1", "1"),
            "the revision moved",
            "made by a revision that is not the head",
        ),
        (
            "UPDATE entities SET state_version = 3",
            "the entity moved",
            "an update leaves one out",
        ),
        (
            "UPDATE entities SET uid = 'x', state_version = 2",
            "the entity moved",
            "an update changes the incarnation",
        ),
        (
            "UPDATE entities SET context = '{}'",
            "the entity moved",
            "an update without a version",
        ),
        (
            "UPDATE entries SET seq = 1",
            "the entry moved",
            "the entry instance it has",
        ),
        (
            "UPDATE entries SET seq = 0",
            "the entry moved",
            "an entry instance goes back",
        ),
        (
            "INSERT INTO entries SELECT * FROM entries WHERE true ON CONFLICT DO UPDATE SET seq = excluded.seq",
            "the entry moved",
            "an upsert of the entry it has",
        ),
        (
            "INSERT INTO violations VALUES ('x')",
            "does not hold any more",
            "a violation",
        ),
        (
            "INSERT INTO history SELECT NULL, 'u', 'c', 1, '_', 'a', 'b', 'e', '{}', '[]', 0, 0, 'key', '{}' FROM \
          (SELECT 1 UNION ALL SELECT 2)",
            "UNIQUE",
            "an identity twice",
        ),
    ];
    for (sql, why, what) in wrong {
        let outcome = run(&world(), sql);
        assert!(
            outcome.as_ref().is_err_and(|error| error.contains(why)),
            "{what}: {outcome:?}"
        );
    }
}

#[test]
fn nothing_is_made_of_a_machine_that_is_gone() {
    let world = world();
    delete(&world.other, "order", "e");
    assert_eq!(delete_machine(&world.other, "order").0, 204);
    let outcome = run(&world, upsert!("new", "n", "2", "1"));
    assert!(outcome.is_err_and(|error| error.contains("the revision moved")));
}

#[test]
fn an_entity_of_a_pinned_revision_is_written_and_none_is_made() {
    let world = world();
    assert_eq!(put(&world.other, &order(), "pin").0, 200);
    assert_eq!(run(&world, upsert!("e", "u", "2", "2")), Ok(()));
    assert!(
        run(&world, upsert!("new", "n", "2", "1")).is_err(),
        "new ones start on the head"
    );
    assert_eq!(run(&world, upsert!("new", "n", "3", "1")), Ok(()));
}

fn engine(database: &Faulty) -> Engine<Faulty, TestClock, Counted> {
    Engine::new(
        database.clone(),
        TestClock::new(),
        Counted::default(),
        DefinitionCache::default(),
    )
}

fn schema(sqlite: &Sqlite) -> Vec<String> {
    let connection = sqlite.connection.borrow();
    let mut statement = connection
        .prepare("SELECT name || ': ' || coalesce(sql, '') FROM sqlite_master ORDER BY 1")
        .unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_new_database_is_brought_to_the_schema_and_stays_there() {
    let faulty = Faulty::new(Sqlite::new());
    let engine = engine(&faulty);
    let error = block_on(engine.check_schema()).unwrap_err();
    assert_eq!(
        (error.status(), error.code().name(), error.code().retry()),
        (503, "SCHEMA_MISMATCH", true)
    );
    assert_eq!(block_on(engine.schema_version()).unwrap(), 0);
    block_on(engine.migrate()).unwrap();
    block_on(engine.check_schema()).unwrap();
    assert_eq!(block_on(engine.schema_version()).unwrap(), SCHEMA_VERSION);
    let made = schema(&faulty.inner);
    faulty.inner.taken();
    block_on(engine.migrate()).unwrap();
    assert_eq!(schema(&faulty.inner), made);
    assert!(
        faulty.inner.taken().iter().flatten().all(|sql| reads(sql)),
        "nothing is left to do"
    );
}

#[test]
fn a_database_of_a_newer_program_is_refused_and_not_touched() {
    let faulty = Faulty::new(Sqlite::new());
    let engine = engine(&faulty);
    block_on(engine.migrate()).unwrap();
    faulty.inner.execute(&format!(
        "INSERT INTO schema_version VALUES ({})",
        SCHEMA_VERSION + 1
    ));
    let made = schema(&faulty.inner);
    for outcome in [block_on(engine.migrate()), block_on(engine.check_schema())] {
        let error = outcome.unwrap_err();
        assert_eq!((error.status(), error.code().name()), (503, "SCHEMA_MISMATCH"));
        assert!(
            error
                .to_string()
                .contains(&format!("schema version {}", SCHEMA_VERSION + 1)),
            "{error}"
        );
    }
    assert_eq!(schema(&faulty.inner), made);
}

#[test]
fn two_programs_that_migrate_at_once_both_succeed() {
    let faulty = Faulty::new(Sqlite::new());
    let other = engine(&Faulty::new(faulty.inner.clone()));
    faulty.arm([(
        1,
        Fault::Meanwhile(Rc::new(move || block_on(other.migrate()).unwrap())),
    )]);
    block_on(engine(&faulty).migrate()).unwrap();
    assert!(faulty.struck());
    block_on(engine(&faulty).check_schema()).unwrap();
}

#[test]
fn i3_a_migration_with_a_fault_is_made_whole_or_not_at_all() {
    let faulty = Faulty::new(Sqlite::new());
    faulty.arm([(1, Fault::Before)]);
    let error = block_on(engine(&faulty).migrate()).unwrap_err();
    assert!(error.code().retry(), "{error}");
    assert_eq!(schema(&faulty.inner), Vec::<String>::new());
    faulty.arm([(1, Fault::After)]);
    block_on(engine(&faulty).migrate()).unwrap();
    block_on(engine(&faulty).check_schema()).unwrap();
}

#[test]
fn migrations_are_numbered_files_of_whole_statements() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    files.sort();
    assert_eq!(files.len(), MIGRATIONS.len(), "each file is known to the program");
    for (place, (file, migration)) in files.iter().zip(MIGRATIONS).enumerate() {
        let name = file.to_str().unwrap();
        assert!(name.starts_with(&format!("{:04}_", place + 1)), "{name}");
        assert_eq!(
            fs::read_to_string(format!("{folder}/{name}")).unwrap(),
            *migration
        );
        let all: Vec<_> = statements(migration).collect();
        for sql in &all {
            assert!(sql.ends_with(';'), "{sql}");
            // A trigger has statements within; everything else is one.
            let inner = if sql.contains("CREATE TRIGGER") { 3 } else { 1 };
            let text: String = sql
                .lines()
                .filter(|line| !line.trim_start().starts_with("--"))
                .collect();
            assert!(text.matches(';').count() <= inner, "{sql}");
        }
        // Nothing is lost between the statements.
        let whole: usize = all.iter().map(|sql| sql.matches("CREATE ").count()).sum();
        assert_eq!(whole, migration.matches("CREATE ").count());
        assert!(all.last().unwrap().contains(&format!(
            "INSERT INTO schema_version (version) VALUES ({})",
            place + 1
        )));
    }
}

#[test]
fn statements_are_parted_by_blank_lines_and_comments_alone_are_none() {
    let text = "-- A comment.\n\n-- One.\nSELECT 1;\n\n  \n\nCREATE TRIGGER t\nBEGIN\n  SELECT 2;\nEND;\n\n-- The end.\n";
    let found: Vec<_> = statements(text).collect();
    assert_eq!(
        found,
        ["-- One.\nSELECT 1;", "CREATE TRIGGER t\nBEGIN\n  SELECT 2;\nEND;"]
    );
}

/// Undoes the third migration.
const WITHOUT_THE_THIRD: [&str; 9] = [
    "DROP TABLE outbox",
    "DROP TABLE subscriptions",
    "DROP TABLE inbox",
    "DROP TABLE records",
    "DROP TABLE secrets",
    "DROP TABLE sources",
    "DROP TABLE source_counts",
    "DROP TABLE ingest_tokens",
    "DELETE FROM schema_version WHERE version = 3",
];

/// Undoes the second.
const WITHOUT_THE_SECOND: [&str; 4] = [
    "DROP TABLE instances",
    "DROP TABLE forwards",
    "ALTER TABLE revisions DROP COLUMN refers",
    "DELETE FROM schema_version WHERE version = 2",
];

#[test]
fn s2_109_a_database_of_an_earlier_schema_keeps_what_it_has_and_goes_on() {
    for version in [1, 2] {
        let world = World::new();
        register(&world.other, &order());
        create(&world.other, "order", "e");
        let made = schema(&world.sqlite);
        let stored = world.sqlite.dump();
        let mut undo = WITHOUT_THE_THIRD.to_vec();
        if version == 1 {
            undo.extend(WITHOUT_THE_SECOND);
        }
        for sql in undo {
            world.sqlite.execute(sql);
        }
        assert_eq!(block_on(world.engine.schema_version()).unwrap(), version);
        let error = block_on(world.engine.check_schema()).unwrap_err();
        assert_eq!(error.code().name(), "SCHEMA_MISMATCH", "nothing is served before");
        block_on(world.engine.migrate()).unwrap();
        let names = |schema: &[String]| -> Vec<String> {
            let name = |line: &String| line.split(':').next().unwrap().to_owned();
            schema.iter().map(name).collect()
        };
        assert_eq!(names(&schema(&world.sqlite)), names(&made));
        assert_eq!(world.sqlite.dump(), stored);
        let (status, answer) = world.event("order", "e", "pay", Some(1));
        assert_eq!((status, &answer["state_version"]), (200, &serde_json::json!(2)));
    }
}

/// A row of a lane as the engine writes it: id, status, version, due, claimed, held, finished.
macro_rules! effect {
    ($id:literal, $status:literal, $version:literal, $due:literal, $held:literal, $finished:literal) => {
        concat!(
            "INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, \
             entity_id, effect, due_at, held, created_at, finished_at) VALUES ('t1', '",
            $id,
            "', 'e', 'webhook', '",
            $status,
            "', 'l', ",
            $version,
            ", 0, 's', 't', 'm', 'e', '{}', ",
            $due,
            ", ",
            $held,
            ", 0, ",
            $finished,
            ")"
        )
    };
}

/// A lane of three rows, of which the first is due or claimed.
fn lane() -> Rc<World> {
    let world = World::new();
    for sql in [
        effect!("c", "pending", 4, "NULL", 0, "NULL"),
        effect!("a", "pending", 2, "7", 0, "NULL"),
        effect!("b", "pending", 3, "NULL", 0, "NULL"),
        "INSERT INTO outbox (tenant, id, event_id, kind, status, lane, version, place, sink, target, machine_id, entity_id, \
          effect, due_at, created_at) VALUES ('t2', 'a', 'e', 'webhook', 'pending', 'l', 1, 0, 's', 't', 'm', 'e', '{}', NULL, 0)",
    ] {
        world.sqlite.execute(sql);
    }
    world
}

fn due(world: &World) -> String {
    let connection = world.sqlite.connection.borrow();
    let sql = "SELECT coalesce(group_concat(tenant || id || ':' || due_at, ' '), '') FROM \
        (SELECT * FROM outbox WHERE due_at IS NOT NULL ORDER BY tenant, id)";
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn i7_whatever_ends_a_row_lets_the_next_of_its_lane_go_and_nothing_else_does() {
    for status in ["done", "dead", "skipped", "cancelled"] {
        let world = lane();
        let end = |id: &str, at: i64| {
            world.sqlite.execute(&format!(
                "UPDATE outbox SET status = '{status}', due_at = NULL, finished_at = {at} WHERE tenant = 't1' AND id = '{id}'"
            ))
        };
        assert_eq!(due(&world), "t1a:7");
        // One that waits behind the others ends: nobody else is let go.
        end("c", 8);
        assert_eq!(due(&world), "t1a:7", "{status}");
        end("a", 9);
        assert_eq!(
            due(&world),
            "t1b:9",
            "{status}: the next by version, in its tenant alone"
        );
        end("b", 10);
        assert_eq!(due(&world), "", "{status}");
    }
    // What is held waits for its subscription.
    let world = lane();
    world.sqlite.execute("UPDATE outbox SET held = 1 WHERE id = 'b'");
    world.sqlite.execute(
        "UPDATE outbox SET status = 'done', due_at = NULL, finished_at = 9 WHERE tenant = 't1' AND id = 'a'",
    );
    assert_eq!(due(&world), "", "and those behind it with it");
    // A failure that is tried again, and a claim, let nobody go.
    let world = lane();
    world.sqlite.execute(
        "UPDATE outbox SET status = 'pending', due_at = 99, claimed = 1 WHERE tenant = 't1' AND id = 'a'",
    );
    assert_eq!(due(&world), "t1a:99");
}

#[test]
fn i3_i7_every_wrong_effect_receipt_or_record_aborts_its_batch() {
    let wrong = [
        (
            effect!("x", "sent", 1, "NULL", 0, "NULL"),
            "CHECK",
            "a status that none has",
        ),
        (
            effect!("x", "done", 1, "NULL", 0, "NULL"),
            "CHECK",
            "an end without its time",
        ),
        (
            effect!("x", "pending", 1, "NULL", 0, "1"),
            "CHECK",
            "a time of an end that is none",
        ),
        (effect!("x", "dead", 1, "5", 0, "1"), "CHECK", "due after its end"),
        (
            effect!("x", "pending", 1, "NULL", 2, "NULL"),
            "CHECK",
            "held by halves",
        ),
        (
            effect!("a", "pending", 1, "NULL", 0, "NULL"),
            "UNIQUE",
            "an id twice",
        ),
        (
            "UPDATE outbox SET status = 'done' WHERE id = 'a'",
            "CHECK",
            "an end without its time, by an update",
        ),
        (
            "UPDATE outbox SET kind = 'mail' WHERE id = 'a'",
            "CHECK",
            "a kind that none has",
        ),
        (
            "INSERT INTO inbox (tenant, key, scope, part, fingerprint, status, outcome, created_at, expires_at) \
              SELECT 't1', 'k', 's', -1, 'f', 200, 'o', 0, 0 FROM (SELECT 1 UNION ALL SELECT 2)",
            "UNIQUE",
            "two receipts of one key",
        ),
        (
            "INSERT INTO records VALUES ('t1', 'm', 'r', 'u', 'a', 0, 'null', 'c', 0, 0)",
            "CHECK",
            "a version that no record has",
        ),
        (
            "INSERT INTO records VALUES ('t1', 'm', 'r', 'u', 'a', 1, 'nul', 'c', 0, 0)",
            "CHECK",
            "data that is no JSON",
        ),
        (
            "INSERT INTO subscriptions VALUES ('t1', 's', 'all', NULL, NULL, NULL, NULL, '{}', 1, 0, 0)",
            "CHECK",
            "a source that there is not",
        ),
    ];
    for (sql, why, what) in wrong {
        let outcome = run(&lane(), sql);
        assert!(
            outcome.as_ref().is_err_and(|error| error.contains(why)),
            "{what}: {outcome:?}"
        );
    }
}

/// A place as the engine writes it.
macro_rules! place {
    ($uid:literal, $root:literal, $parent:literal, $status:literal) => {
        concat!(
            "INSERT INTO instances SELECT ",
            $uid,
            ", 't1', machine_id, entity_id, ",
            $root,
            ", 'l0', 'e', ",
            $parent,
            ", parent_machine, parent_entity, region, state, seq, first_seq, kind, ",
            $status,
            ", 0, '[]', 0, CASE WHEN ",
            $status,
            " = 'active' THEN NULL ELSE 1 END, 1, NULL FROM instances WHERE machine_id = 'leaf' \
             ON CONFLICT (uid) DO UPDATE SET status = excluded.status, ended = excluded.ended"
        )
    };
}

#[test]
fn i6_every_wrong_place_aborts_its_batch() {
    let family = || {
        let world = World::new();
        register_all(&world.other, &chain(2, "refuse"));
        make(&world.other, "l0", "e");
        world
    };
    assert_eq!(
        run(&family(), place!("uid", "root_uid", "parent_uid", "'active'")),
        Ok(())
    );
    assert_eq!(
        run(&family(), place!("uid", "root_uid", "parent_uid", "'cancelled'")),
        Ok(())
    );
    let wrong = [
        (
            place!("'none'", "root_uid", "parent_uid", "'active'"),
            "the parent moved",
            "a child that is not there",
        ),
        (
            place!("uid", "root_uid", "'none'", "'active'"),
            "the parent moved",
            "below a parent that is not there",
        ),
        (
            place!("uid", "parent_uid", "parent_uid", "'active'"),
            "the parent moved",
            "in a tree that is not its parent's",
        ),
        (
            "UPDATE instances SET status = 'cancelled', ended = 1 WHERE machine_id = 'l1'",
            "a child was made meanwhile",
            "an end above what lives",
        ),
        (
            "UPDATE instances SET status = 'cancelled' WHERE machine_id = 'leaf'",
            "CHECK",
            "an end without its time",
        ),
        (
            "INSERT INTO forwards SELECT uid, 'k', uid FROM instances UNION ALL SELECT uid, 'k', uid FROM instances",
            "UNIQUE",
            "one event handed on twice",
        ),
    ];
    for (sql, why, what) in wrong {
        let outcome = run(&family(), sql);
        assert!(
            outcome.as_ref().is_err_and(|error| error.contains(why)),
            "{what}: {outcome:?}"
        );
    }
    let world = family();
    for machine in ["leaf", "l1"] {
        world.sqlite.execute(&format!(
            "UPDATE instances SET status = 'cancelled', ended = 1 WHERE machine_id = '{machine}'"
        ));
    }
    let outcome = run(&world, place!("uid", "root_uid", "parent_uid", "'active'"));
    assert!(
        outcome.is_err_and(|error| error.contains("the parent moved")),
        "below what ended"
    );
}
