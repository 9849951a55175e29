// The service that a command asks, where it is told of one.

import type { Client } from "../client.ts";
import type { Given, Option } from "./command.ts";
import { Refusal } from "./refusal.ts";
import type { Terminal } from "./terminal.ts";

/** Whom `dev` serves, and the key that it asks for: what a service is asked with where nothing else is said. */
export const DEVELOPMENT = { tenant: "demo", key: "dev_secret" } as const;

/** The options that say which service. */
export const SERVICE: Readonly<Record<string, Option>> = {
  url: { type: "string", value: "url", help: "a running service; STATEWRIGHT_URL if left out" },
  tenant: {
    type: "string",
    short: "t",
    value: "tenant",
    help: `its tenant; STATEWRIGHT_TENANT if left out, or \`${DEVELOPMENT.tenant}\``,
  },
  key: {
    type: "string",
    short: "k",
    value: "key",
    help: `its API key; STATEWRIGHT_KEY if left out, or \`${DEVELOPMENT.key}\``,
  },
};

/** The service that was named; undefined where none was. */
export async function serviceOf(
  given: Given,
  { env }: Terminal,
  isNeeded: boolean,
): Promise<Client | undefined> {
  const url = given.text("url") ?? (isNeeded ? env["STATEWRIGHT_URL"] : undefined);
  if (url === undefined) return undefined;
  if (!URL.canParse(url))
    throw new Refusal(`--url is \`${url}\`; a URL such as http://localhost:3050 is needed`);
  // Most commands ask no service.
  const { createClient } = await import("../client.ts");
  return createClient({
    url,
    tenant: given.text("tenant") ?? env["STATEWRIGHT_TENANT"] ?? DEVELOPMENT.tenant,
    apiKey: given.text("key") ?? env["STATEWRIGHT_KEY"] ?? DEVELOPMENT.key,
    retries: 1,
    timeout: 15_000,
  });
}
