// The package's own `#simulation-wasm`, by the name under which the bundles of these tests have it.

declare module "simulation-wasm" {
  export function simulation(): { readonly WasmSession: import("./sessions.ts").Sessions };
}
