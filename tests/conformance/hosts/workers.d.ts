// What of the Workers runtime the module in workerd uses.

declare module "cloudflare:workers" {
  export abstract class DurableObject {
    constructor(ctx: { readonly storage: unknown }, env: unknown);
    protected readonly ctx: { readonly storage: unknown };
    abstract fetch(request: Request): Promise<Response>;
  }
}
