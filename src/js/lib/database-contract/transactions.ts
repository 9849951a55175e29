// That a batch is a transaction, and what is told of one that is refused.

import type { ContractCase, DatabaseSubject } from "../database-contract.ts";
import type { Statement } from "../database.ts";
import { holds, on, same, sql, type Subject, thrown } from "./checks.ts";

const SCHEMA: readonly Statement[] = [
  sql(
    "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, number INTEGER CHECK (number >= 0)) STRICT",
  ),
  sql(
    "CREATE TRIGGER things_stay BEFORE UPDATE ON things WHEN NEW.number < OLD.number BEGIN \
       SELECT RAISE(ABORT, 'statewright: the number goes down'); END",
  ),
  sql(
    "CREATE TRIGGER things_new BEFORE INSERT ON things WHEN NEW.name = 'nobody' BEGIN \
       SELECT RAISE(ABORT, 'statewright: nobody comes in'); END",
  ),
  sql("INSERT INTO things (id, name, number) VALUES (1, 'one', 1), (2, 'two', 2)"),
];
const ADD = "INSERT INTO things (id, name, number) VALUES (?1, ?2, ?3)";
const NAMES = "SELECT json_array(name) FROM things ORDER BY id";

/** What a constraint or a trigger refuses, and how. */
const REFUSED: readonly (readonly [what: string, statement: Statement, words: RegExp])[] = [
  ["a primary key", sql(ADD, 1, "more", 1), /UNIQUE|PRIMARY/i],
  ["UNIQUE", sql(ADD, 9, "two", 1), /UNIQUE/i],
  ["CHECK", sql(ADD, 9, "more", -1), /CHECK/i],
  ["NOT NULL", sql(ADD, 9, null, 1), /NOT NULL/i],
  ["a STRICT type", sql(ADD, 9, "more", "no number"), /cannot store/i],
  ["RAISE before an update", sql("UPDATE things SET number = 0 WHERE id = ?1", 2), /the number goes down/],
  ["RAISE before an insert", sql(ADD, 9, "nobody", 1), /nobody comes in/],
  [
    "RAISE before an upsert",
    sql(
      "INSERT INTO things (id, name, number) VALUES (?1, 'two', 0) ON CONFLICT (id) DO UPDATE SET number = excluded.number",
      2,
    ),
    /the number goes down/,
  ],
];

/** What fails without being refused. */
const FAILING: readonly (readonly [what: string, statement: Statement])[] = [
  ["malformed JSON", sql("SELECT json_array(json(?1))", "{")],
  ["a table that is none", sql("INSERT INTO nothing (id) VALUES (?1)", 1)],
  ["what is no SQL", sql("INSERT things INTO")],
];

async function unchanged(db: Subject, what: string): Promise<void> {
  same(await db.rows(NAMES), ['["one"]', '["two"]'], `${what}: something of the batch stands`);
}

export function transactionCases(subject: DatabaseSubject): ContractCase[] {
  return [
    ...REFUSED.map(([what, statement, words]) =>
      on(
        subject,
        `nothing of a batch stands that ${what} refuses, and it throws a ConstraintError`,
        async (db) => {
          await db.batch(...SCHEMA);
          for (const batch of [
            [statement],
            [sql(ADD, 3, "three", 3), statement],
            [
              sql(ADD, 3, "three", 3),
              sql("UPDATE things SET name = 'uno' WHERE id = 1"),
              statement,
              sql(ADD, 4, "four", 4),
            ],
          ]) {
            const error = await thrown(() => db.batch(...batch), what);
            holds(error instanceof Error, `${what}: no Error was thrown`);
            const { name, message } = error as Error;
            same(name, "ConstraintError", `${what}: ${message}: the name of the error`);
            holds(words.test(message), `${what}: \`${message}\` does not say why`);
            await unchanged(db, what);
          }
          // The connection is as good as before.
          await db.batch(sql(ADD, 3, "three", 3));
          same(await db.rows(NAMES), ['["one"]', '["two"]', '["three"]'], "the batch after it");
        },
      ),
    ),
    ...FAILING.map(([what, statement]) =>
      on(
        subject,
        `nothing of a batch stands that fails for ${what}, and it throws no ConstraintError`,
        async (db) => {
          await db.batch(...SCHEMA);
          const error = await thrown(
            () => db.batch(sql(ADD, 3, "three", 3), statement, sql(ADD, 4, "four", 4)),
            what,
          );
          holds(error instanceof Error && error.name !== "ConstraintError", `${what}: ${String(error)}`);
          await unchanged(db, what);
          await db.batch(sql(ADD, 3, "three", 3));
        },
      ),
    ),
    on(subject, "a statement sees what those before it in the batch did", async (db) => {
      await db.batch(...SCHEMA);
      const rows = await db.batch(
        sql(ADD, 3, "three", 3),
        sql(NAMES),
        sql("DELETE FROM things WHERE id < 3"),
        sql(NAMES),
      );
      same(rows[1], ['["one"]', '["two"]', '["three"]'], "after the insert");
      same(rows[3], ['["three"]'], "after the deletion");
      same(await db.rows(NAMES), ['["three"]'], "in the next batch");
    }),
    on(subject, "an update that meets no row is no failure", async (db) => {
      const rows = await db.batch(...SCHEMA, sql("UPDATE things SET number = 9 WHERE id = 99"), sql(NAMES));
      same(rows.at(-1)?.length, 2, "rows");
    }),
    on(subject, "batches that are begun together do not mix", async (db) => {
      await db.batch(...SCHEMA, sql("CREATE TABLE pairs (id INTEGER PRIMARY KEY, owner INTEGER) STRICT"));
      const pair = (owner: number) =>
        db.batch(
          sql("SELECT json_array(count(*) % 2) FROM pairs"),
          sql("INSERT INTO pairs (owner) VALUES (?1)", owner),
          sql("UPDATE things SET number = number + 1 WHERE id = 1"),
          sql("INSERT INTO pairs (owner) VALUES (?1)", owner),
        );
      const all = await Promise.all(Array.from({ length: 20 }, (_, owner) => pair(owner)));
      for (const [odd] of all) same(odd, ["[0]"], "a batch saw a half of another");
      same(await db.rows("SELECT json_array(number) FROM things WHERE id = 1"), ["[21]"], "the counter");
      const apart = await db.rows(
        "SELECT json_array(a.owner) FROM pairs a JOIN pairs b ON b.id = a.id + 1 WHERE a.id % 2 = 1 AND a.owner <> b.owner",
      );
      same(apart, [], "pairs that came apart");
    }),
    on(subject, "one of two batches that are begun together may be refused, the other stands", async (db) => {
      await db.batch(...SCHEMA);
      const ends = await Promise.allSettled([
        db.batch(sql(ADD, 3, "three", 3), sql(ADD, 1, "again", 1)),
        db.batch(sql(ADD, 4, "four", 4)),
        db.batch(sql(ADD, 5, "two", 5)),
        db.batch(sql(NAMES)),
      ]);
      same(
        ends.map(({ status }) => status),
        ["rejected", "fulfilled", "rejected", "fulfilled"],
        "ends",
      );
      same(await db.rows(NAMES), ['["one"]', '["two"]', '["four"]'], "what stands");
    }),
    ...kept(subject),
  ];
}

function kept(subject: DatabaseSubject): ContractCase[] {
  const { reopen } = subject;
  if (reopen === undefined) return [];
  return [
    {
      name: "what is committed is there when it is opened again",
      async run() {
        const database = await subject.open();
        try {
          await database.batch(SCHEMA);
          await database.batch([sql(ADD, 3, "three", 3)]);
        } finally {
          await database.close?.();
        }
        const again = await reopen();
        try {
          const [names] = await again.batch([sql(NAMES)]);
          same(names, ['["one"]', '["two"]', '["three"]'], "what was kept");
        } finally {
          await again.close?.();
        }
      },
    },
  ];
}
