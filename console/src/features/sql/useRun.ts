import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { asApiError, errorOf } from "~/api/errors";
import { type Asked, ask, cancelQuery, follow, isOver, type QueryInfo } from "~/api/sql";
import { remember } from "./history";

export interface Run {
  asked: Asked | null;
  query: QueryInfo | null;
  /** Why it did not run, or did not end well: in the API's words. */
  error: unknown;
  busy: boolean;
}

const NOTHING: Run = { asked: null, query: null, error: null, busy: false };

/** Asks one query at a time, and follows it to its end. A new one cancels the one before. */
export function useRun(): [Run, (asked: Asked) => Promise<void>, () => void] {
  const client = useQueryClient();
  const [run, setRun] = useState<Run>(NOTHING);
  const turn = useRef(0);
  const open = useRef<string | null>(null);

  const drop = useCallback(() => {
    const id = open.current;
    open.current = null;
    // It may be gone by now: whoever asks next does not care.
    if (id) cancelQuery(id).catch(() => undefined);
  }, []);

  const start = useCallback(
    async (asked: Asked) => {
      turn.current += 1;
      const mine = turn.current;
      drop();
      remember(asked);
      setRun({ asked, query: null, error: null, busy: true });
      try {
        let query = await ask(asked);
        while (turn.current === mine) {
          open.current = query.id;
          const error = query.error ? errorOf(400, { error: query.error }) : null;
          setRun({ asked, query, error, busy: !isOver(query) });
          if (isOver(query)) break;
          query = await follow(query.id, query.rows);
        }
        if (turn.current !== mine) cancelQuery(query.id).catch(() => undefined);
      } catch (error) {
        if (turn.current === mine)
          setRun((now) => ({ ...now, error: asApiError(error), busy: false }));
      }
      void client.invalidateQueries({ queryKey: ["queries"] });
    },
    [client, drop],
  );

  const stop = useCallback(() => {
    const id = open.current;
    turn.current += 1;
    drop();
    setRun((now) => ({
      ...now,
      busy: false,
      query: now.query && { ...now.query, state: "cancelled" },
      error: id ? null : now.error,
    }));
  }, [drop]);

  useEffect(
    () => () => {
      // What is being asked just now has no ID yet: it is cancelled when it has.
      turn.current += 1;
      drop();
    },
    [drop],
  );
  return [run, start, stop];
}
