import { tell } from "../../parts/overlays.tsx";

/** Puts a text into the clipboard, and tells so; whether it could. */
export async function copy(text: string, what: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    tell(`${what} copied`);
    return true;
  } catch {
    tell("The browser did not let this page copy");
    return false;
  }
}

/** Puts a value into the clipboard as JSON. */
export function copyJson(value: unknown, what: string): Promise<boolean> {
  return copy(JSON.stringify(value, undefined, 2), what);
}
