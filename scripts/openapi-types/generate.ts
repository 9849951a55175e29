// Types and tables of the HTTP API for TypeScript, as texts, made from the OpenAPI document.

import openapiTS, { astToString } from "openapi-typescript";
import { format } from "prettier";

const HEADER = `// Made from docs/openapi.json by scripts/openapi-types.ts; do not edit: \`node scripts/openapi-types.ts\` makes it anew.\n\n`;
const TENANT = "X-Tenant-Id";
const KEY = "Idempotency-Key";
const METHODS = ["get", "put", "post", "delete"] as const;

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
}

interface Response {
  description: string;
  content?: unknown;
}

interface Operation {
  parameters?: Parameter[];
  responses: Record<string, Response>;
}

/** What is read of an OpenAPI document here. */
export interface Document {
  openapi: string;
  components: { schemas: { ProblemDetail: { properties: { code: { enum: string[] } } } } };
  paths: Record<string, Partial<Record<(typeof METHODS)[number], Operation>>>;
}

/** What is made: the file's name in src/js/lib, and its text. */
export interface Made {
  file: string;
  text: string;
}

/** All operations of a document, with their route: `POST /api/machines`. */
function* operations(document: Document): Generator<[route: string, operation: Operation]> {
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      if (operation !== undefined) yield [`${method.toUpperCase()} ${path}`, operation];
    }
  }
}

/** Every refusal has the one shape: it is told once for each operation, and not for each status that it can have. */
function joinRefusals(operation: Operation): void {
  const refusals = Object.entries(operation.responses).filter(([status]) => status >= "400");
  const [first] = refusals;
  if (first === undefined) return;
  for (const [status, { content }] of refusals) {
    if (JSON.stringify(content) !== JSON.stringify(first[1].content))
      throw new Error(`${status} has a shape of its own`);
    delete operation.responses[status];
  }
  operation.responses["default"] = { ...first[1], description: "It is refused." };
}

/** Makes all files; leaves `document` as it is. */
export async function generate(document: Document): Promise<Made[]> {
  const own = structuredClone(document);
  const keyed: string[] = [];
  const reading: string[] = [];
  for (const [route, operation] of operations(own)) {
    joinRefusals(operation);
    for (const parameter of operation.parameters ?? []) {
      // A client is of a tenant, which it names by itself.
      if (parameter.name === TENANT) parameter.required = false;
      if (parameter.name === KEY) keyed.push(route);
    }
    // What takes no key where others do changes nothing; webhooks bring identities of their own.
    if (/^(POST|PUT|DELETE) \/api\//.test(route) && !keyed.includes(route)) reading.push(route);
  }
  const pretty = (text: string) => format(HEADER + text, { parser: "typescript", printWidth: 110 });
  // The library's type of a document is stricter than what a JSON file can be known to be.
  const types = astToString(
    await openapiTS(JSON.stringify(own), { immutable: true, defaultNonNullable: false }),
  );
  const codes = own.components.schemas.ProblemDetail.properties.code.enum;
  const table = `/** Routes that honour an Idempotency-Key: the method, and the path as the OpenAPI document writes it. */
export const KEYED_ROUTES: ReadonlySet<string> = new Set(${JSON.stringify(keyed)});

/** Routes that take a body and change nothing. */
export const READING_ROUTES: ReadonlySet<string> = new Set(${JSON.stringify(reading)});\n`;
  const union = `/** The codes of errors that a service answers; docs/http-api.md says when. */
export type ServiceCode = ${codes.map((code) => JSON.stringify(code)).join(" | ")};\n`;
  return [
    { file: "openapi.ts", text: await pretty(types) },
    { file: "routes.ts", text: await pretty(table) },
    { file: "codes.ts", text: await pretty(union) },
  ];
}
