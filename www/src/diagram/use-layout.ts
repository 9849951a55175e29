// A graph's layout, made when it changes. The old one stays until the new one is there.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ElkNode } from "elkjs/lib/elk-api";

import type { Graph } from "./graph.ts";
import { type Layout, layoutOf } from "./layout.ts";
import { laidOut } from "./layout-worker.ts";
import { measuring } from "./measure.ts";
import { questionOf } from "./question.ts";

export interface Laid {
  readonly layout: Layout | undefined;
  /** Why there is none of the newest graph. */
  readonly failed: string | undefined;
  readonly again: () => void;
}

/** The layout of a graph; of none, none. */
export function useLayout(graph: Graph | undefined): Laid {
  const [laid, setLaid] = useState<Omit<Laid, "again">>({ layout: undefined, failed: undefined });
  const [tries, setTries] = useState(0);
  const wanted = useRef(graph);
  const busy = useRef(false);
  const answered = useRef<{ question: string; answer: ElkNode }>(undefined);
  const gone = useRef(false);
  wanted.current = graph;

  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
    };
  }, []);

  useEffect(() => {
    if (graph === undefined || busy.current) return;
    busy.current = true;
    void work().finally(() => {
      busy.current = false;
    });
  }, [graph, tries]);

  /** One question at a time; what is wanted meanwhile is asked when the answer is there, and only the newest of it. */
  async function work(): Promise<void> {
    let done: Graph | undefined;
    while (wanted.current !== undefined && wanted.current !== done && !gone.current) {
      done = wanted.current;
      try {
        const measure = await measuring();
        const asked = questionOf(done, measure);
        const question = JSON.stringify(asked);
        if (answered.current?.question !== question)
          answered.current = { question, answer: await laidOut(asked) };
        const layout = layoutOf(done, answered.current.answer, measure);
        if (!gone.current) setLaid({ layout, failed: undefined });
      } catch (error) {
        const failed = error instanceof Error ? error.message : String(error);
        if (!gone.current) setLaid((before) => ({ ...before, failed }));
      }
    }
  }

  return {
    ...laid,
    again: () => {
      setLaid((before) => ({ ...before, failed: undefined }));
      setTries(tries + 1);
    },
  };
}
