// What runs in workerd: machines of `statewright`, on which the tests walk.

import { compile } from "./package-machine.ts";
import { type Told, walk } from "./walk.ts";

export default {
  async fetch(request: Request): Promise<Response> {
    return Response.json(walk(compile, (await request.json()) as Told[]));
  },
};
