// What the package's loaders give, for tests that name modules of src/js/lib in their types: by condition, which the loaders are chosen by,
// it is always the bindings.

declare module "#core-wasm" {
  export const core: () => typeof import("#core-bindings");
}
declare module "#simulation-wasm" {
  export const simulation: () => typeof import("#simulation-bindings");
}
declare module "#engine-wasm" {
  export const engine: () => typeof import("#engine-bindings");
}
