import { DurableObject } from "cloudflare:workers";
import * as core from "statewright";
import * as engine from "statewright/engine";

import { durable, pure } from "./exercise.js";

/** An engine in a Durable Object, over the object's own storage. */
export class Box extends DurableObject {
  fetch() {
    return durable(engine, engine.durableObject(this.ctx.storage)).then(Response.json);
  }
}

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/core") return Response.json(pure(core));
    if (pathname === "/d1") return Response.json(await durable(engine, engine.d1(env.DB)));
    return env.BOXES.get(env.BOXES.idFromName("one")).fetch(request);
  },
};
