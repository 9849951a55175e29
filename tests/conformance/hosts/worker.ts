// What runs in workerd: an engine in a Durable Object, and one over D1, on which the tests run cases.

import { DurableObject } from "cloudflare:workers";
import { type D1Binding, d1, durableObject, type DurableObjectStorage } from "statewright/engine";

import { parse } from "../matching.ts";
import { type Case, runCases } from "../vectors.ts";
import { InProcess } from "./in-process.ts";

interface Environment {
  readonly OBJECTS: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
  readonly DB: D1Binding;
}

async function answered(host: InProcess, request: Request): Promise<Response> {
  return Response.json(await runCases(host, parse(await request.text()) as unknown as Case[]));
}

export class Engine extends DurableObject {
  readonly #host = new InProcess(() => durableObject(this.ctx.storage as DurableObjectStorage));

  override fetch(request: Request): Promise<Response> {
    return answered(this.#host, request);
  }
}

let overD1: InProcess | undefined;

export default {
  fetch(request: Request, env: Environment): Promise<Response> {
    if (new URL(request.url).pathname === "/object") return env.OBJECTS.getByName("one").fetch(request);
    overD1 ??= new InProcess(() => d1(env.DB));
    return answered(overD1, request);
  },
};
