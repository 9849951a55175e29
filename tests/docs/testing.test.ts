// docs/testing.md: its examples compile and do what they say.

import assert from "node:assert/strict";
import { test } from "node:test";

import { runExamples } from "./typescript.ts";

test(
  "the examples of docs/testing.md compile, run, and print what is shown",
  { timeout: 120_000 },
  async () => {
    assert.ok((await runExamples("docs/testing.md")) >= 4);
  },
);
