// What runs in workerd: sessions, on which the tests play scripts.

import { simulation } from "simulation-wasm";

import { replay, type Script } from "./sessions.ts";

export default {
  async fetch(request: Request): Promise<Response> {
    return Response.json(replay(simulation().WasmSession, (await request.json()) as Script[]));
  },
};
