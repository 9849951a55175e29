/** What was refused, and why. It has the same codes wherever it comes from: the pure core, the engine, or a service over HTTP. */
export class StatewrightError extends Error {
  override readonly name = "StatewrightError";
  /** The code, such as `JOIN_CASCADE_LIMIT`; docs/http-api.md lists them. */
  readonly code: string;
  /** The HTTP status that goes with the code; 0 where no answer came. */
  readonly status: number;
  /** Whether the same again may succeed. */
  readonly retry: boolean;
  /** What else the answer's `error` says: faults with their paths, the version that stands, … */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(error: ErrorBody, status: number, options?: { cause?: unknown }) {
    super(error.message, options);
    const { code, message: _message, retry, ...details } = error;
    this.code = code;
    this.status = status;
    this.retry = retry;
    this.details = details;
  }
}

/** The inside of an answer's `error`. */
export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly retry: boolean;
  readonly [detail: string]: unknown;
}
