// What runs in workerd: the suite of databases over D1, and over the storage of a Durable Object.

import { DurableObject } from "cloudflare:workers";
import { d1, durableObject } from "statewright/engine";
import { databaseContract } from "statewright/testing";

/** Runs one case; gives the names of all where none is asked for. */
async function answered(request, subject) {
  const cases = databaseContract(subject);
  const place = new URL(request.url).searchParams.get("case");
  if (place === null) return Response.json(cases.map(({ name }) => name));
  try {
    await cases[Number(place)].run();
    return Response.json({});
  } catch (error) {
    return Response.json({ error: String(error?.stack ?? error) });
  }
}

/** Empties a database of D1. */
async function empty(db) {
  const kinds = "CASE type WHEN 'trigger' THEN 0 ELSE 1 END";
  const { results } = await db
    .prepare(
      `SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'table') AND name NOT LIKE 'sqlite%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY ${kinds}`,
    )
    .all();
  const drops = results.map(({ type, name }) => db.prepare(`DROP ${type} ${name}`));
  if (drops.length > 0) await db.batch(drops);
}

/** Each case has an object of its own. */
export class Box extends DurableObject {
  fetch(request) {
    const open = () => durableObject(this.ctx.storage);
    return answered(request, { open, reopen: open });
  }
}

export default {
  fetch(request, env) {
    const url = new URL(request.url);
    if (url.pathname === "/durable-object") return env.BOXES.getByName(url.search).fetch(request);
    const reopen = () => d1(env.DB);
    return answered(request, { open: () => empty(env.DB).then(reopen), reopen });
  },
};
