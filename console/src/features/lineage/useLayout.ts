import { useEffect, useMemo, useRef, useState } from "react";
import type { Layout, Shape } from "./layout";

interface Answer {
  key: string;
  layout?: Layout;
  problem?: string;
}

/** The layout of boxes, made by a worker; undefined until it is there. */
export function useLayout(shape: Shape): { layout?: Layout; problem?: string } {
  const worker = useRef<Worker>(undefined);
  const [answer, setAnswer] = useState<Answer>();
  const key = useMemo(() => JSON.stringify(shape), [shape]);
  const wanted = useRef(key);
  wanted.current = key;
  useEffect(() => {
    const made = new Worker(new URL("./layout.worker.ts", import.meta.url), { type: "module" });
    made.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.key === wanted.current) setAnswer(data);
    };
    made.onerror = () =>
      setAnswer({ key: wanted.current, problem: "The layout could not be made." });
    worker.current = made;
    return () => {
      made.terminate();
      worker.current = undefined;
    };
  }, []);
  useEffect(() => {
    worker.current?.postMessage({ key, shape: JSON.parse(key) as Shape });
  }, [key]);
  return answer?.key === key ? answer : {};
}
