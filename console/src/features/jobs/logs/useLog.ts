import { useEffect, useState } from "react";
import { ApiError, errorOf } from "~/api/errors";
import { isOver, logEventsUrl } from "~/api/jobs";
import type { Job, LogLine } from "~/api/types";
import { type Numbered, numbered } from "./lines";

export interface Log {
  lines: Numbered[];
  /** Whether there will be no others. */
  done: boolean;
  error: unknown;
}

const NOTHING: Log = { lines: [], done: false, error: null };
const PAUSE = 100;
/** More than this no one reads in a browser, and it would not stay usable. */
export const MOST_LINES = 300_000;

/** What a job, or one of its datums, printed; while it runs, as it comes.
 *
 * The browser goes on by itself from the last event it has, when a connection breaks.
 */
export function useLog(job: Job, datum?: string): Log {
  const [log, setLog] = useState(NOTHING);
  const { project, repo } = job.pipeline;
  // A job that ends meanwhile says so itself; one that is over is not asked again.
  const [follow] = useState(() => !isOver(job));
  useEffect(() => {
    setLog(NOTHING);
    const source = new EventSource(logEventsUrl({ project, repo }, job.id, { follow, datum }));
    let fresh: LogLine[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    let heard = 0;
    const flush = (change: Partial<Log> = {}) => {
      clearTimeout(timer);
      timer = undefined;
      const taken = fresh;
      fresh = [];
      setLog((old) => {
        const from = old.lines.length + 1;
        const added = taken.map((line, n) => numbered(line, from + n));
        return {
          ...old,
          lines: added.length > 0 ? [...old.lines, ...added] : old.lines,
          ...change,
        };
      });
    };
    const end = (error: unknown = null) => {
      source.close();
      flush({ done: true, error });
    };
    source.addEventListener("line", (event) => {
      fresh.push(JSON.parse(event.data) as LogLine);
      heard += 1;
      if (heard >= MOST_LINES) end();
      else timer ??= setTimeout(flush, PAUSE);
    });
    source.addEventListener("end", () => end());
    source.addEventListener("error", (event) => {
      // The server's own words come with data; without, the connection broke.
      if (event instanceof MessageEvent) end(errorOf(500, JSON.parse(event.data)));
      else if (source.readyState === EventSource.CLOSED) {
        end(new ApiError(0, "unreachable", "The log cannot be read.", "Is the server running?"));
      }
    });
    return () => {
      source.close();
      clearTimeout(timer);
    };
  }, [project, repo, job.id, datum, follow]);
  return log;
}
