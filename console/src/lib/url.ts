import { useCallback } from "react";
import { useSearchParams } from "react-router";

/* `flushSync`: a box that is ticked and a letter that is typed show at once, however busy the page. */

/** One value of the URL's query, and how to set it. The empty value is left out of the URL. */
export function useParam(name: string, empty = ""): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (value: string) =>
      setParams(
        (now) => {
          const next = new URLSearchParams(now);
          if (value === empty) next.delete(name);
          else next.set(name, value);
          return next;
        },
        { replace: true, flushSync: true },
      ),
    [name, empty, setParams],
  );
  return [params.get(name) ?? empty, set];
}

/** Several values at once; null removes one. With `push` the Back button undoes it. */
export function useQueryState(): [
  URLSearchParams,
  (values: Record<string, string | null>, options?: { push?: boolean }) => void,
] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (values: Record<string, string | null>, options?: { push?: boolean }) =>
      setParams(
        (now) => {
          const next = new URLSearchParams(now);
          for (const [name, value] of Object.entries(values)) {
            if (value === null || value === "") next.delete(name);
            else next.set(name, value);
          }
          return next;
        },
        { replace: !options?.push, flushSync: true },
      ),
    [setParams],
  );
  return [params, set];
}
