/** Keeps what is on the screen up to date: the server's events say what has become stale. */
import type { QueryClient } from "@tanstack/react-query";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import type { Key, Noun } from "./keys";
import type { Event as LakeEvent } from "./types";

const COMMITS: Noun[] = [
  "commits",
  "environments",
  "repos",
  "overview",
  "sets",
  "tables",
  "lineage",
  "flows",
  "status",
];
const JOBS: Noun[] = [
  "jobs",
  "environments",
  "overview",
  "sets",
  "pipelines",
  "checks",
  "flows",
  "status",
];

/** Which nouns an event of a kind makes stale. */
export const STALE: Record<string, Noun[]> = {
  commit: COMMITS,
  branch: COMMITS,
  tag: COMMITS,
  drop: COMMITS,
  squash: COMMITS,
  forget: COMMITS,
  repo: ["repos", "overview", "status", "search"],
  job: [...JOBS, "commits", "repos", "tables"],
  progress: ["jobs", "flows"],
  delivery: ["jobs", "status"],
  pipeline: ["pipelines", "environments", "overview", "repos", "jobs", "flows", "status"],
  schedule: ["pipelines", "jobs"],
};
const PAUSE = 400;
const AGAIN = 3000;

let connected = true;
const listeners = new Set<() => void>();

function setConnected(now: boolean): void {
  if (connected === now) return;
  connected = now;
  for (const listener of listeners) listener();
}

/** Whether events arrive. When they do not, what is shown may be old, and the shell says so. */
export function useConnected(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => connected,
  );
}

/** Gathers events and refetches at most once in a while, however many arrive. */
export class Refresher {
  private waiting = new Map<Noun, Set<string>>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly client: QueryClient,
    private readonly pause = PAUSE,
  ) {}

  take(event: Pick<LakeEvent, "kind" | "repo">): void {
    const scope = `${event.repo.project}/${event.repo.repo}`;
    for (const noun of ["events" as Noun, ...(STALE[event.kind] ?? [])]) {
      const scopes = this.waiting.get(noun) ?? new Set();
      this.waiting.set(noun, scopes.add(scope));
    }
    this.timer ??= setTimeout(() => this.flush(), this.pause);
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const stale = this.waiting;
    this.waiting = new Map();
    void this.client.invalidateQueries({
      predicate: ({ queryKey }) => {
        const [noun, scope] = queryKey as unknown as Key;
        const scopes = stale.get(noun);
        return scopes !== undefined && (scope === "" || scopes.has(scope));
      },
    });
  }
}

const CHANNEL = "trunkline-events";
const HEARD = { open: "open", lost: "lost" } as const;

/** One connection for all tabs of a browser: it has six per server, and files need them too.
 *
 * Whoever holds the lock listens and tells the others; without locks each tab listens itself.
 */
export function listen(hear: (message: string) => void, stopped: AbortSignal): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = (message) => hear(message.data);
  stopped.addEventListener("abort", () => channel.close());
  const tell = (message: string) => {
    if (stopped.aborted) return;
    hear(message);
    channel.postMessage(message);
  };
  const open = () =>
    new Promise<void>((resolve) => {
      let source: EventSource;
      let timer: ReturnType<typeof setTimeout> | undefined;
      const connect = () => {
        source = new EventSource("/api/v1/events");
        source.onopen = () => tell(HEARD.open);
        source.onerror = () => {
          tell(HEARD.lost);
          // A browser tries again by itself, but not where it was answered with a refusal: a proxy
          // does that while the server behind it is away.
          if (source.readyState === EventSource.CLOSED) timer = setTimeout(connect, AGAIN);
        };
        source.onmessage = (message) => tell(message.data);
      };
      connect();
      stopped.addEventListener("abort", () => {
        clearTimeout(timer);
        source.close();
        resolve();
      });
    });
  if (!navigator.locks) void open();
  else navigator.locks.request(CHANNEL, { signal: stopped }, open).catch(() => undefined);
}

/** Keeps the screen up to date for as long as the shell is there. */
export function useLive(): void {
  const client = useQueryClient();
  useEffect(() => {
    const refresher = new Refresher(client);
    const stop = new AbortController();
    let lost = false;
    listen((message) => {
      if (message === HEARD.open) {
        setConnected(true);
        // What happened meanwhile is not told again after a restart of the server.
        if (lost) void client.invalidateQueries();
        lost = false;
      } else if (message === HEARD.lost) {
        lost = true;
        setConnected(false);
      } else {
        refresher.take(JSON.parse(message) as LakeEvent);
      }
    }, stop.signal);
    return () => {
      stop.abort();
      refresher.flush();
    };
  }, [client]);
}
