// A request of the console as a command for a shell.

/** The service and the tenant that a request is for. The key is no part of it: it never stands in a text. */
export interface Place {
  readonly url: string;
  readonly tenant: string;
}

/** A request as the console sends it. */
export interface CurlRequest {
  readonly method: string;
  /** From the root of the service, its segments encoded: {@link apiPath} makes it. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly connection: Place;
}

/** A path below `/api`, each segment encoded. */
export function apiPath(...segments: readonly string[]): string {
  return `/api/${segments.map(encodeURIComponent).join("/")}`;
}

/** A word that a POSIX shell takes as it stands. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The request as a command for a POSIX shell. The key is read from `STATEWRIGHT_KEY` there. */
export function curl({ method, path, query = {}, headers = {}, body, connection }: CurlRequest): string {
  const asked = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(asked.map(([name, value]) => [name, String(value)])).toString();
  const url = `${connection.url.replace(/\/+$/, "")}${path}${search === "" ? "" : `?${search}`}`;
  const lines = [
    `curl -sS${method === "GET" ? "" : ` -X ${method}`} ${quoted(url)}`,
    `-H "Authorization: Bearer $STATEWRIGHT_KEY"`,
    `-H ${quoted(`X-Tenant-Id: ${connection.tenant}`)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
  ];
  if (body !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `--data-raw ${quoted(JSON.stringify(body))}`);
  }
  return lines.join(" \\\n  ");
}
