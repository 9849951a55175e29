// One request of the HTTP API as data, whoever answers it: the engine in this process, or a service over HTTP.

import type { paths } from "./openapi.ts";

/** The header that names the tenant. */
export const TENANT_HEADER = "X-Tenant-Id";
/** The header by which a request has one effect, however often it is sent. */
export const KEY_HEADER = "Idempotency-Key";

/** A method of the API. */
export type Method = "get" | "put" | "post" | "delete";

/** What is asked. */
export interface CallRequest {
  readonly method: Uppercase<Method>;
  /** The path as the OpenAPI document writes it: `/api/machines/{machine_id}`. */
  readonly path: keyof paths;
  /** The parts that the path leaves open, not encoded yet. */
  readonly params: Readonly<Record<string, string>>;
  /** The query, without what is undefined. */
  readonly query: Readonly<Record<string, string | number | boolean>>;
  readonly headers: Readonly<Record<string, string>>;
  /** The body, to be sent as JSON; none when undefined. */
  readonly body?: unknown;
  /** Whether the caller wants no Idempotency-Key, where one would be made. */
  readonly unkeyed?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** What is answered to a request that was not refused. */
export interface CallAnswer {
  readonly status: number;
  /** The headers by their names in lower case: a `Headers`, or a `Map`. */
  readonly headers: { get(name: string): string | null | undefined };
  /** The body: JSON that was read, or a text; undefined where there is none. */
  readonly data: unknown;
}

/**
 * Sends a request and gives its answer.
 *
 * @throws StatewrightError where the request is refused, and where no answer comes.
 */
export type Call = (request: CallRequest) => Promise<CallAnswer>;

/** The operation of a method on a path. */
export type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;

/** Paths that take a method. */
export type PathsWith<M extends Method> = {
  [P in keyof paths]: [Operation<P, M>] extends [never] ? never : P;
}[keyof paths];

/** The parts that a path leaves open. */
export type ParamsOf<O> = O extends { readonly parameters: { readonly path: infer T } } ? T : object;

/** The query of an operation. */
export type QueryOf<O> = O extends { readonly parameters: { readonly query?: infer T } }
  ? NonNullable<T>
  : never;

/** The body that an operation takes. */
export type BodyOf<O> = O extends {
  readonly requestBody: { readonly content: { readonly "application/json": infer T } };
}
  ? T
  : undefined;

type ContentOf<R> = R extends { readonly content: infer C }
  ? C extends { readonly "application/json": infer T }
    ? T
    : C[keyof C]
  : undefined;

/** What an operation answers when it is not refused. */
export type AnswerOf<O> = O extends { readonly responses: infer R }
  ? ContentOf<R[Extract<keyof R, 200 | 201 | 204>]>
  : never;
