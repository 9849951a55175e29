import type { JSX } from "preact";

/** What an error says of itself. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of an error that has one: a `StatewrightError`'s. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** What failed, in the words and with the code of who refused it. */
export function Failure({ error, what }: { error: unknown; what?: string }): JSX.Element {
  const code = codeOf(error);
  return (
    <div class="notice notice-error" role="alert">
      {what !== undefined && <strong>{what}</strong>}
      <p>
        {code !== undefined && <code class="code">{code}</code>} {messageOf(error)}
      </p>
    </div>
  );
}
