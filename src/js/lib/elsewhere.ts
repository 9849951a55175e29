// What `statewright/worker` is for runtimes other than workerd: the reason why it cannot be had there.

throw new Error(
  "statewright/worker runs on Cloudflare's workerd alone (wrangler, Miniflare). To serve or run machines in this runtime, import " +
    "statewright/engine. If this is a bundle for workerd, give the bundler the condition `workerd`.",
);
