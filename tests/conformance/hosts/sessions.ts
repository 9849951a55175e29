// Transcripts on a session, wherever it is. It uses nothing of Node.js.

/** What a session was asked, from its beginning on. */
export interface Script {
  readonly start: number;
  readonly tenant: string;
  readonly asked: readonly (readonly [op: string, args: string])[];
}

/** A status and a body's JSON text. */
export type Reply = readonly [status: number, body: string];

/** A session of the package's WebAssembly. */
export interface WasmSession {
  /** Answers `{"status", "body"}`. */
  perform(op: string, args: string): string;
  free(): void;
}

/** How such sessions are made. */
export type Sessions = new (now: number, tenant: string, deliver: boolean) => WasmSession;

const SHAPE = /^\{"status":(\d+),"body":([^]*)\}$/;

/** Plays scripts, each on a new session. */
export function replay(Session: Sessions, scripts: readonly Script[]): Reply[][] {
  return scripts.map(({ start, tenant, asked }) => {
    const session = new Session(start, tenant, false);
    const replies = asked.map(([op, args]): Reply => {
      const text = session.perform(op, args);
      const [, status, body] = SHAPE.exec(text) ?? [];
      if (status === undefined || body === undefined) throw new Error(`no reply: ${text.slice(0, 200)}`);
      return [Number(status), body];
    });
    session.free();
    return replies;
  });
}
