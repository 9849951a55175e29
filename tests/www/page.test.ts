// The page itself: served by the Worker beside its API.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { ROOT } from "../../scripts/paths.ts";
import { quiet, skip, stage } from "./support.ts";

test("the Worker serves the page at / and the API beside it", { skip }, async () => {
  const on = await stage();
  const { service } = on;
  const opened = await on.open();
  const { page } = opened;
  const views = page.getByRole("navigation", { name: "Views" });
  await views.getByText("Console").click();
  assert.match(page.url(), /#\/console$/);
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  assert.equal((await service.call("GET", "/health")).status, 200);
  assert.equal((await service.call("GET", "/api/nothing")).body.error.code, "NOT_FOUND");

  // What a browser needs to install it.
  const manifest = await page.evaluate(async () => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="manifest"]');
    const answer = await fetch(link?.href ?? "");
    return (await answer.json()) as { start_url: string; icons: { src: string }[] };
  });
  assert.equal(manifest.start_url, "./");
  for (const { src } of manifest.icons) {
    const icon = await service.call("GET", new URL(src, `${on.url}/`).pathname);
    assert.match(icon.headers.get("content-type") ?? "", /^image\//);
  }

  // The licences of what it is made with, wherever it goes.
  const licences = await page.evaluate(async () => {
    const link = document.querySelector<HTMLLinkElement>('link[rel="license"]');
    return (await fetch(link?.href ?? "")).text();
  });
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "www/package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  for (const [name, version] of Object.entries(dependencies)) {
    assert.ok(licences.includes(`${name} ${version}\n`), name);
  }
  assert.match(licences, /SIL OPEN FONT LICENSE Version 1\.1/);
  assert.match(licences, /Eclipse Public License/i);
  quiet(opened);
});
