/** Compiles a WebAssembly file while it comes. */
export async function compiled(url: string): Promise<WebAssembly.Module> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} was answered with ${answer.status}`);
  // Not every host of static files knows the type that streaming asks for.
  if (answer.headers.get("content-type")?.startsWith("application/wasm")) {
    return WebAssembly.compileStreaming(answer);
  }
  return WebAssembly.compile(await answer.arrayBuffer());
}
