// The packed package in a page: built by Vite, opened in Chromium under a policy that evaluates no text.

import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { test } from "node:test";

import { chromium } from "playwright-core";
import { build } from "vite";

import { findChromium } from "../../scripts/chromium.mjs";
import { DURABLE, PURE } from "./answers.ts";
import { install, SHARED } from "./installed.ts";

const POLICY = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; img-src data:";
const TYPES: Record<string, string> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".wasm": "application/wasm",
};

const browser = findChromium();
if (browser === undefined && process.env["CI"] === "true") throw new Error("there is no Chromium");

test(
  "a page made by Vite uses the core, a simulation and the engine",
  {
    skip: browser === undefined && "there is no Chromium",
    timeout: 120_000,
  },
  async () => {
    const project = install("vite", { beside: ["sql.js"] });
    copyFileSync(join(SHARED, "exercise.js"), join(project.folder, "src", "exercise.js"));
    await build({ root: project.folder, logLevel: "error", build: { target: "es2022" } });
    const dist = join(project.folder, "dist");

    // What the page is made of at first has the core's bytes and not the engine's.
    const chunks = readdirSync(join(dist, "assets")).filter((name) => name.endsWith(".js"));
    const html = readFileSync(join(dist, "index.html"), "utf8");
    const first = chunks.filter((name) => html.includes(name)).map((name) => read(dist, name).length);
    const whole = chunks.map((name) => read(dist, name).length).reduce((sum, size) => sum + size, 0);
    assert.ok(Math.max(...first) < whole / 2, `${first} of ${whole} bytes`);

    const requested: string[] = [];
    const server = createServer(({ url = "/" }, response) => {
      const path = url === "/" ? "/index.html" : new URL(url, "http://page").pathname;
      requested.push(path);
      try {
        const content = readFileSync(join(dist, path));
        response.writeHead(200, {
          "content-type": TYPES[extname(path)] ?? "application/octet-stream",
          "content-security-policy": POLICY,
        });
        response.end(content);
      } catch {
        response.writeHead(404).end();
      }
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const running = await chromium.launch({ executablePath: browser ?? "", args: ["--no-sandbox"] });
    try {
      const page = await running.newPage();
      const complaints: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error") complaints.push(message.text());
      });
      page.on("pageerror", (error) => complaints.push(error.message));
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      const text = await page.locator("output:not(:empty)").textContent({ timeout: 60_000 });
      assert.deepEqual(JSON.parse(text ?? ""), { pure: PURE, durable: DURABLE });
      assert.deepEqual(complaints, []);
      // Its bytes are in its scripts: nothing of it is fetched by name.
      assert.ok(
        requested.every((path) => !/statewright|(core|engine)[^/]*\.wasm$/.test(path)),
        String(requested),
      );
    } finally {
      await running.close();
      server.close();
      project.remove();
    }
  },
);

function read(dist: string, name: string): string {
  return readFileSync(join(dist, "assets", name), "utf8");
}
