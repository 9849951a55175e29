// A graph's layout, made when it changes. The old one stays until the new one is there.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ElkNode } from "elkjs/lib/elk-api";

import type { Graph } from "./graph.ts";
import { type Layout, layoutOf } from "./layout.ts";
import { laidOut } from "./layout-worker.ts";
import { measuring } from "./measure.ts";
import { type Flow, flowsFreely, questionOf } from "./question.ts";
import type { Measure } from "./sizes.ts";
import { fitted, type Size } from "./viewport.ts";

export interface Laid {
  readonly layout: Layout | undefined;
  /** Why there is none of the newest graph. */
  readonly failed: string | undefined;
  readonly again: () => void;
}

/** Downwards is what people expect: to the right only where it is so much larger. */
const WORTH_IT = 1.15;

/** The layout of a graph; of none, none. */
export function useLayout(graph: Graph | undefined, box: () => Size): Laid {
  const [laid, setLaid] = useState<Omit<Laid, "again">>({ layout: undefined, failed: undefined });
  const [tries, setTries] = useState(0);
  const wanted = useRef(graph);
  const busy = useRef(false);
  const answered = useRef<{ question: string; answer: ElkNode }>(undefined);
  const flows = useRef<{ machine: string; flow: Flow }>(undefined);
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
        const asked = questionOf(done, measure, await flowOf(done, measure));
        const question = JSON.stringify(asked);
        if (answered.current?.question !== question) {
          answered.current = { question, answer: await laidOut(asked) };
        }
        const layout = layoutOf(done, answered.current.answer, measure);
        if (!gone.current) setLaid({ layout, failed: undefined });
      } catch (error) {
        const failed = error instanceof Error ? error.message : String(error);
        if (!gone.current) setLaid((before) => ({ ...before, failed }));
      }
    }
  }

  /** Of a machine that is new, what is larger in the box; after that it stays, whatever is opened or edited. */
  async function flowOf(of: Graph, measure: Measure): Promise<Flow> {
    const machine = of.root.machine_id;
    if (flows.current?.machine === machine) return flows.current.flow;
    flows.current = { machine, flow: "DOWN" };
    const seen = box();
    if (!flowsFreely(of) || seen.width === 0) return "DOWN";
    const scale = async (flow: Flow) => {
      const { width = 0, height = 0 } = await laidOut(questionOf(of, measure, flow));
      return fitted({ width, height }, seen).scale;
    };
    if ((await scale("RIGHT")) > (await scale("DOWN")) * WORTH_IT) flows.current = { machine, flow: "RIGHT" };
    return flows.current.flow;
  }

  return {
    ...laid,
    again: () => {
      setLaid((before) => ({ ...before, failed: undefined }));
      setTries(tries + 1);
    },
  };
}
