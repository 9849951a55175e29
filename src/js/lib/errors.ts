import type { ServiceCode } from "./codes.ts";
import type { components } from "./openapi.ts";

/** What was refused, and why. It has the same codes wherever it comes from: the pure core, the engine, or a service over HTTP. */
export class StatewrightError extends Error {
  override readonly name = "StatewrightError";
  /** The code, such as `JOIN_CASCADE_LIMIT`; docs/http-api.md lists them. */
  readonly code: ErrorCode;
  /** The HTTP status that goes with the code; 0 where no answer came. */
  readonly status: number;
  /** Whether the same again may succeed. */
  readonly retry: boolean;
  /** What else the answer's `error` says: faults with their paths, the version that stands, … */
  readonly details: ErrorDetails;

  constructor(error: ErrorBody, status: number, options?: { cause?: unknown }) {
    super(error.message, options);
    const { code, message: _message, retry, ...details } = error;
    this.code = code;
    this.status = status;
    this.retry = retry;
    this.details = details;
  }
}

/**
 * The code of an error. Beside a service's own there are `NO_ANSWER`, where no answer came in time, and `UNKNOWN_ANSWER`, where what
 * came is not Statewright's; a newer service may have others.
 */
export type ErrorCode = ServiceCode | "NO_ANSWER" | "UNKNOWN_ANSWER" | (string & {});

/** What an error says beside its code, its message and `retry`. */
export type ErrorDetails = Omit<components["schemas"]["ProblemDetail"], "code" | "message" | "retry"> &
  Readonly<Record<string, unknown>>;

/** The inside of an answer's `error`. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly retry: boolean;
  readonly [detail: string]: unknown;
}
