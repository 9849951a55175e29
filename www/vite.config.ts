import { defineConfig } from "vite";

import { licences } from "./build/licences.ts";
import { offline } from "./build/offline.ts";
import { policy } from "./build/policy.ts";
import { wasmFiles } from "./build/wasm-files.ts";

export default defineConfig({
  // Whatever folder it is served from.
  base: "./",
  plugins: [policy(), wasmFiles(), licences(), offline()],
  // The package is linked, not installed: its modules are sources like the page's own.
  optimizeDeps: { exclude: ["statewright"] },
  resolve: { preserveSymlinks: true },
  build: {
    outDir: "../build/www",
    emptyOutDir: true,
    target: "es2023",
    // Nothing inline: the policy allows none of it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 4000,
  },
});
