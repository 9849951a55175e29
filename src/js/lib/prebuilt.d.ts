// The Worker that scripts/package.ts puts into the package: the default export of its script.

declare module "#prebuilt-worker" {
  /** The service, as the entry point of a Worker: made for each request by the runtime. */
  export default class Service {
    constructor(context: unknown, env: unknown);
    /** Answers a request to the API. */
    fetch(request: Request): Promise<Response>;
    /** Fires due timers and delivers effects until the cron's minute is over. */
    scheduled(event: { readonly scheduledTime: number; readonly cron: string }): Promise<void>;
  }
}
