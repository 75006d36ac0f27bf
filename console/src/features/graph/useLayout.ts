import { useEffect, useMemo, useRef, useState } from "react";
import type { Graph } from "./graph";
import type { Layout, Shape } from "./layout";

const KEPT = 12;

interface Answer {
  key: string;
  layout?: Layout;
  problem?: string;
}

/** A graph without its states: only another one of these is laid out anew. */
function shapeOf(graph: Graph): Shape {
  return {
    nodes: [...graph.nodes].map(([id, node]) => ({ id, project: node.name.project })),
    edges: graph.lines.map(({ source, target }) => [source, target]),
  };
}

/** The layout of a graph, made by a worker. The last one stays until the next is there. */
export function useLayout(graph: Graph | undefined): { layout?: Layout; problem?: string } {
  const worker = useRef<Worker>(undefined);
  const known = useRef(new Map<string, Answer>());
  const wanted = useRef("");
  const [answer, setAnswer] = useState<Answer>();
  const key = useMemo(() => (graph ? JSON.stringify(shapeOf(graph)) : ""), [graph]);

  useEffect(() => {
    const made = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    made.onmessage = (message: MessageEvent<Answer>) => {
      const { data } = message;
      known.current.set(data.key, data);
      const oldest = known.current.keys().next().value;
      if (known.current.size > KEPT && oldest !== undefined) known.current.delete(oldest);
      if (data.key === wanted.current) setAnswer(data);
    };
    made.onerror = () =>
      setAnswer({ key: wanted.current, problem: "The graph's layout could not be made." });
    worker.current = made;
    return () => {
      made.terminate();
      worker.current = undefined;
    };
  }, []);

  useEffect(() => {
    if (!key) return;
    wanted.current = key;
    const found = known.current.get(key);
    if (found) setAnswer(found);
    else worker.current?.postMessage({ key, shape: JSON.parse(key) as Shape });
  }, [key]);

  return answer ?? {};
}
