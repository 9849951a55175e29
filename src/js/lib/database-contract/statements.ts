// What goes into statements and comes out of them.

import type { ContractCase, DatabaseSubject } from "../database-contract.ts";
import { holds, on, same, sql } from "./checks.ts";

const MAKE = "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT, number INTEGER) STRICT";
const ADD = "INSERT INTO things (id, name, number) VALUES (?1, ?2, ?3)";
const ALL = "SELECT json_array(id, name, number) FROM things ORDER BY id";

/** Texts that are easily altered on their way. */
const TEXTS = [
  "",
  " ",
  "plain",
  "'; DROP TABLE things; --",
  '"quoted" \\ back',
  "line\nbreak\r\n\ttab",
  "äöü ñ 漢字 한국어",
  "\u{1f600} \u{1f468}\u200d\u{1f469}\u200d\u{1f467}",
  "e\u0301 \ufeff \u2028 \u2029 \ufffd",
  "12",
  "1e3",
  "null",
  "[1]",
];

const MOST_BYTES = 1_500_000;

export function statementCases(subject: DatabaseSubject): ContractCase[] {
  return [
    on(subject, "gives the rows of each statement in order, and none for what gives none", async (db) => {
      const rows = await db.batch(
        sql(MAKE),
        sql(ADD, 2, "b", 20),
        sql(ADD, 1, "a", 10),
        sql(ALL),
        sql("SELECT json_array(1) WHERE 0"),
        sql("DELETE FROM things WHERE id = 9"),
        sql("SELECT json_array(count(*)) FROM things"),
      );
      same(rows, [[], [], [], ['[1,"a",10]', '[2,"b",20]'], [], [], ["[2]"]], "rows");
    }),
    on(subject, "gives what RETURNING gives", async (db) => {
      await db.batch(sql(MAKE), sql(ADD, 1, "a", 10), sql(ADD, 2, "b", 20));
      const changed = await db.rows(
        "UPDATE things SET number = number + 1 WHERE id = ?1 RETURNING json_array(id, number)",
        2,
      );
      same(changed, ["[2,21]"], "rows");
      same(await db.rows("DELETE FROM things WHERE id = 9 RETURNING json_array(id)"), [], "no rows");
    }),
    on(subject, "carries texts as they are", async (db) => {
      await db.batch(sql(MAKE), ...TEXTS.map((text, id) => sql(ADD, id, text, null)));
      const rows = await db.rows("SELECT json_array(name, typeof(name)) FROM things ORDER BY id");
      same(
        rows.map((row) => JSON.parse(row)),
        TEXTS.map((text) => [text, "text"]),
        "texts",
      );
    }),
    on(subject, "gives a column that is a text as that text", async (db) => {
      same(await db.rows("SELECT ?1", "plain, and no JSON: é"), ["plain, and no JSON: é"], "a text");
    }),
    on(subject, "carries null", async (db) => {
      await db.batch(sql(MAKE), sql(ADD, 1, null, null));
      same(
        await db.rows("SELECT json_array(name, number, ?1 IS NULL) FROM things", null),
        ["[null,null,1]"],
        "null",
      );
    }),
    on(subject, "carries whole numbers within ±2^53 exactly", async (db) => {
      const most = Number.MAX_SAFE_INTEGER;
      const numbers = [0, 1, -1, 255, 2 ** 31 - 1, 2 ** 31, -(2 ** 31) - 1, 1_795_999_125_980, most, -most];
      await db.batch(sql(MAKE), ...numbers.map((number, id) => sql(ADD, id, null, number)));
      const rows = await db.rows("SELECT json_array(number, typeof(number)) FROM things ORDER BY id");
      same(
        rows,
        numbers.map((number) => `[${number},"integer"]`),
        "numbers",
      );
      same(await db.rows("SELECT json_array(id) FROM things WHERE number = ?1", most), ["[8]"], "compared");
      same(
        await db.rows("SELECT json_array(id) FROM things WHERE number < ?1", -most + 1),
        ["[9]"],
        "ordered",
      );
    }),
    on(subject, "binds parameters by their numbers, once or often", async (db) => {
      const rows = await db.rows("SELECT json_array(?2, ?1, ?2, ?3)", "one", "two", "three");
      same(rows, ['["two","one","two","three"]'], "parameters");
    }),
    on(subject, "takes a parameter of 1.5 MB, and gives a row of as much", async (db) => {
      const text = "0123456789abcdé\u{1f600}".repeat(Math.floor(MOST_BYTES / 21));
      const [row = ""] = await db.rows("SELECT json_array(octet_length(?1), ?1)", text);
      const [bytes, found] = JSON.parse(row) as [number, string];
      same(bytes, new TextEncoder().encode(text).length, "bytes");
      holds(found === text, "the text came back otherwise");
    }),
    on(subject, "runs a statement again and again with other parameters", async (db) => {
      await db.batch(sql(MAKE));
      for (let id = 0; id < 200; id += 1) await db.batch(sql(ADD, id, `name ${id}`, id * 2));
      const rows = await db.rows("SELECT json_array(count(*), sum(number), max(name)) FROM things");
      same(rows, ['[200,39800,"name 99"]'], "rows");
    }),
    on(subject, "takes many statements in one batch", async (db) => {
      const many = Array.from({ length: 200 }, (_, id) => sql(ADD, id, "a", id));
      const rows = await db.batch(sql(MAKE), ...many, sql("SELECT json_array(count(*)) FROM things"));
      same(rows.length, 202, "answers");
      same(rows.at(-1), ["[200]"], "the last of them");
    }),
    on(subject, "has JSON functions, recursion and windows", async (db) => {
      const list = JSON.stringify(Array.from({ length: 5_000 }, (_, id) => [id, `name ${id}`]));
      const rows = await db.batch(
        sql(MAKE),
        sql(
          "INSERT INTO things (id, name) SELECT value->>0, value->>1 FROM json_each(?1) WHERE true \
           ON CONFLICT (id) DO UPDATE SET name = excluded.name",
          list,
        ),
        sql("SELECT json_array(count(*), max(id)) FROM things"),
        sql("SELECT json_object('a', json(?1), 'b', json_group_array(id)) FROM things WHERE id < 3", "[1,2]"),
        sql(
          "WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 5) \
           SELECT json_array(n, sum(n) OVER (ORDER BY n ROWS UNBOUNDED PRECEDING)) FROM up",
        ),
        sql("SELECT json_array(json_extract(?1, '$.a.b'), ?1 ->> '$.a.b', ?1 -> '$.a')", '{"a":{"b":"c"}}'),
      );
      same(rows[2], ["[5000,4999]"], "json_each");
      same(rows[3], ['{"a":[1,2],"b":[0,1,2]}'], "json_group_array");
      same(rows[4], ["[1,1]", "[2,3]", "[3,6]", "[4,10]", "[5,15]"], "recursion");
      same(rows[5], ['["c","c",{"b":"c"}]'], "operators");
    }),
  ];
}
