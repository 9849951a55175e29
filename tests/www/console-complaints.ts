// What a browser itself complains of when a service refuses.

import assert from "node:assert/strict";

import type { Opened } from "./support.ts";

/** Takes out the complaints of refusals with a status, which a test brought about; there must be one at least. */
export function refusedWith({ complaints }: Opened, status: number): void {
  take(complaints, new RegExp(`the server responded with a status of ${status}\\b`));
}

/** Takes out the complaints that nothing was reached, or that what was reached is not to be read. */
export function unreached({ complaints }: Opened): void {
  take(complaints, /net::ERR_|blocked by CORS policy/);
}

function take(complaints: string[], pattern: RegExp): void {
  const others = complaints.filter((text) => !pattern.test(text));
  assert.notEqual(others.length, complaints.length, `none like ${pattern} in ${JSON.stringify(complaints)}`);
  complaints.splice(0, complaints.length, ...others);
}
