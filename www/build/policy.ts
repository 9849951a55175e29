// The page's Content-Security-Policy. It stands in the page itself, so that it holds on any host of static files; the Worker puts
// it into a header as well, with a nonce of its own for each answer.

import type { Plugin } from "vite";

/** What stands for the nonce where nobody makes one for each answer. */
export const BUILT_NONCE = "c3RhdGljLWZpbGVz";

const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  `style-src 'self' 'nonce-${BUILT_NONCE}'`,
  "img-src 'self' data: blob:",
  "font-src 'self'",
  // The console talks to the service that its user names.
  "connect-src *",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** Writes policy and nonce into the page. In development there is no policy: Vite's own page scripts are inline. */
export function policy(): Plugin {
  let building = false;
  return {
    name: "policy",
    configResolved({ command }) {
      building = command === "build";
    },
    transformIndexHtml(html) {
      const written = html.replace("%NONCE%", BUILT_NONCE);
      return building
        ? written.replace("%POLICY%", POLICY)
        : written.replace(/\s*<meta http-equiv="Content-Security-Policy"[^>]*>/, "");
    },
  };
}
