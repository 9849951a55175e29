// The connection in this tab's session storage: it is gone when the tab is closed.

import type { Connection } from "./service.ts";

const KEY = "statewright.console";

/** The connection that was kept, if one was. */
export function kept(): Connection | undefined {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    if (typeof value !== "object" || value === null) return undefined;
    const { url, tenant, key } = value as Partial<Record<keyof Connection, unknown>>;
    const whole = typeof url === "string" && typeof tenant === "string" && typeof key === "string";
    return whole && URL.canParse(url) ? { url, tenant, key } : undefined;
  } catch {
    // Storage can be forbidden, or hold something else.
    return undefined;
  }
}

/** Keeps it until the tab is closed. */
export function keep({ url, tenant, key }: Connection): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify({ url, tenant, key }));
  } catch {
    // Then it is kept in memory.
  }
}

/** Keeps none. */
export function forget(): void {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Then there was none.
  }
}
