// What scripts/package.ts puts beside the loaders.

declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
declare module "#core-bytes" {
  const base64: string;
  export default base64;
}
declare module "#simulation-bytes" {
  const base64: string;
  export default base64;
}
declare module "#engine-bytes" {
  const base64: string;
  export default base64;
}
