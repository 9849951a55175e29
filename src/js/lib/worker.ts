// `statewright/worker`: the service as a Worker that is built already. It runs on workerd alone; elsewhere.ts is what others get.

import Prebuilt from "#prebuilt-worker";

/** What a Worker may ask of the runtime beside its answer. */
export interface WorkerContext {
  /** Keeps the Worker alive until a promise has settled, after its answer too. */
  waitUntil(promise: Promise<unknown>): void;
  passThroughOnException(): void;
}

/** A firing of a cron trigger. */
export interface CronEvent {
  /** The minute that it was fired for, in milliseconds since the epoch. */
  readonly scheduledTime: number;
  /** Which trigger of the configuration. */
  readonly cron: string;
}

/** The service as an entry point: the runtime makes one for each request. */
export interface StatewrightWorker {
  /** Answers a request to the API; effects are delivered after the answer. */
  fetch(request: Request): Promise<Response>;
  /** Fires due timers and delivers effects, until the minute of the event is over. */
  scheduled(event: CronEvent): Promise<void>;
}

/** Bindings and variables as docs/worker-package.md names them, and a user's own. */
export type WorkerEnv = object;

/** What a user adds to the service. Handlers of other kinds are kept as they are; the runtime's types say what they are given. */
export interface WorkerHooks<Env extends WorkerEnv = WorkerEnv> {
  /**
   * Gets every request, before the service does, and answers it: by itself, or with what `next` answers, changed or not. `next` gives the
   * service the request, or another one in its place. A request whose body was read cannot be handed on; read that of its `clone()`.
   */
  fetch?(
    request: Request,
    env: Env,
    context: WorkerContext,
    next: (request?: Request) => Promise<Response>,
  ): Response | Promise<Response>;

  /**
   * Gets every firing of a cron trigger. `next` is the service's pass over timers and effects, which lasts for up to a minute: a trigger
   * of one's own goes without it, and that of every minute (`* * * * *`) may not.
   */
  scheduled?(
    event: CronEvent,
    env: Env,
    context: WorkerContext,
    next: () => Promise<void>,
  ): void | Promise<void>;

  queue?(batch: never, env: Env, context: WorkerContext): unknown;
  email?(message: never, env: Env, context: WorkerContext): unknown;
  tail?(events: never, env: Env, context: WorkerContext): unknown;
  trace?(traces: never, env: Env, context: WorkerContext): unknown;
}

/** What a Worker's main module exports as its default. */
export interface WorkerHandler<Env extends WorkerEnv = WorkerEnv> {
  fetch(request: Request, env: Env, context: WorkerContext): Promise<Response>;
  scheduled(event: CronEvent, env: Env, context: WorkerContext): Promise<void>;
}

/** The service, to be a Worker's default export as it is. */
const service: new (context: WorkerContext, env: WorkerEnv) => StatewrightWorker = Prebuilt;
export default service;

/**
 * The service with hooks around it, to be a Worker's default export in its place.
 *
 *     export default createWorker({
 *       fetch(request, env, context, next) {
 *         return new URL(request.url).pathname === "/hello" ? new Response("Hello") : next();
 *       },
 *     });
 *
 * Durable Objects and other entry points of the same module are exported beside it, as ever.
 */
export function createWorker<Env extends WorkerEnv = WorkerEnv>(
  hooks: WorkerHooks<Env>,
): Omit<WorkerHooks<Env>, keyof WorkerHandler> & WorkerHandler<Env> {
  return {
    ...hooks,
    async fetch(request, env, context) {
      const next = (other?: Request | null) => new service(context, env).fetch(other ?? request);
      return hooks.fetch === undefined ? next() : hooks.fetch(request, env, context, next);
    },
    async scheduled(event, env, context) {
      const next = () => new service(context, env).scheduled(event);
      await (hooks.scheduled === undefined ? next() : hooks.scheduled(event, env, context, next));
    },
  };
}
