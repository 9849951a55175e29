// The layout engine in a worker of its own: a file of the page, loaded when the first diagram is shown.

import type { ElkNode } from "elkjs/lib/elk-api";
import workerFile from "elkjs/lib/elk-worker.min.js?url";

interface Answer {
  readonly id: number;
  readonly data?: ElkNode;
  readonly error?: unknown;
}

interface Waiting {
  readonly resolve: (answer: ElkNode) => void;
  readonly reject: (error: Error) => void;
}

let worker: Worker | undefined;
let last = 0;
const waiting = new Map<number, Waiting>();

function started(): Worker {
  if (worker !== undefined) return worker;
  const made = new Worker(workerFile);
  made.addEventListener("message", ({ data }: MessageEvent<Answer>) => {
    const asked = waiting.get(data.id);
    waiting.delete(data.id);
    if (asked === undefined) return;
    if (data.data === undefined) asked.reject(new Error("the layout engine gave up on this machine"));
    else asked.resolve(data.data);
  });
  made.addEventListener("error", () => {
    worker = undefined;
    made.terminate();
    const lost = [...waiting.values()];
    waiting.clear();
    for (const { reject } of lost) reject(new Error("the layout engine could not be loaded"));
  });
  made.postMessage({ id: 0, cmd: "register", algorithms: ["layered", "rectpacking"] });
  worker = made;
  return made;
}

/** The same graph with places. */
export function laidOut(graph: ElkNode): Promise<ElkNode> {
  return new Promise((resolve, reject) => {
    last += 1;
    waiting.set(last, { resolve, reject });
    started().postMessage({ id: last, cmd: "layout", graph, layoutOptions: {}, options: {} });
  });
}
