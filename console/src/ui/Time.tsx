import { useSyncExternalStore } from "react";
import { ago, between, exactly, seconds } from "~/lib/format";

const TICK = 1000;
let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, TICK);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** The time, every second: one clock for all that show it. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

/** How long ago, in the reader's zone when pointed at. */
export function Time({ at }: { at: string | null | undefined }) {
  const text = useSyncExternalStore(subscribe, () => (at ? ago(at, now) : ""));
  if (!at) return <span className="dim">–</span>;
  return (
    <time dateTime={at} title={exactly(at)} style={{ whiteSpace: "nowrap" }}>
      {text}
    </time>
  );
}

/** How long something took, or takes so far. */
export function Lasting({ from, to }: { from?: string | null; to?: string | null }) {
  const text = useSyncExternalStore(subscribe, () =>
    from ? seconds(to ? between(from, to) : Math.floor(between(from, null, now))) : "–",
  );
  return (
    <span className="num" style={{ whiteSpace: "nowrap" }}>
      {text}
    </span>
  );
}
