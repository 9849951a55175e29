// WebAssembly that is a file of its own.

/** Bindings that wasm-bindgen made. */
interface Bindings {
  initSync(of: { readonly module: WebAssembly.Module }): unknown;
}

/** Compiles a file while it comes. */
async function compiled(url: string): Promise<WebAssembly.Module> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} was answered with ${answer.status}`);
  // Not every host of static files knows the type that streaming asks for.
  if (answer.headers.get("content-type")?.startsWith("application/wasm")) {
    return WebAssembly.compileStreaming(answer);
  }
  return WebAssembly.compile(await answer.arrayBuffer());
}

/** What loads a file for its bindings, once, and what gives these when it is loaded. */
export function fromFile<Of extends Bindings>(bindings: Of, url: string) {
  let loading: Promise<void> | undefined;
  let loaded = false;
  return {
    /** Loads it; of a load that failed, the next call is another try. */
    load(): Promise<void> {
      loading ??= compiled(url).then(
        (module) => {
          bindings.initSync({ module });
          loaded = true;
        },
        (error: unknown) => {
          loading = undefined;
          throw error;
        },
      );
      return loading;
    },
    /** The bindings. */
    loaded(): Of {
      if (!loaded) throw new Error("the page used its WebAssembly before it was loaded");
      return bindings;
    },
  };
}
