import { tell } from "./overlays.tsx";

/** Puts a text into the clipboard; whether the browser let it: pages without TLS have none, and users can forbid it. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Puts a value into the clipboard as JSON, and tells so. */
export async function copyJson(value: unknown, what: string): Promise<void> {
  const done = await copied(JSON.stringify(value, undefined, 2));
  tell(done ? `${what} copied` : "The browser did not let this page copy");
}
