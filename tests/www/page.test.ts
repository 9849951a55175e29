// The page itself: served by the Worker beside its API.

import assert from "node:assert/strict";
import { test } from "node:test";

import { quiet, skip, stage } from "./support.ts";

test("the Worker serves the page at / and the API beside it", { skip }, async () => {
  const { service, ...rest } = await stage().then((on) => ({ on, service: on.service }));
  const opened = await rest.on.open();
  await opened.page.getByRole("navigation", { name: "Views" }).getByText("Console").click();
  assert.match(opened.page.url(), /#\/console$/);
  assert.equal((await service.call("GET", "/health")).status, 200);
  assert.equal((await service.call("GET", "/api/nothing")).body.error.code, "NOT_FOUND");
  quiet(opened);
});
