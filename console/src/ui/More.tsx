/** Lists that come in pages: how the next one is asked for. */
import { useEffect, useRef } from "react";
import { Failure } from "./Messages";

export interface More {
  load: () => void;
  busy: boolean;
  /** Why the next page could not be read. It is asked for again only by hand. */
  error?: unknown;
}

interface Pages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  error: unknown;
  fetchNextPage: () => unknown;
}

/** How to go on with a query in pages; undefined at its end. */
export function moreOf(pages: Pages): More | undefined {
  if (!pages.hasNextPage) return undefined;
  return {
    load: () => void pages.fetchNextPage(),
    busy: pages.isFetchingNextPage,
    error: pages.isFetchNextPageError ? pages.error : null,
  };
}

/** Asks for the next page when the last row in sight is near the end of those that are here. */
export function useMoreNear(
  more: More | undefined,
  last: number,
  count: number,
  ahead: number,
): void {
  const latest = useRef(more);
  latest.current = more;
  const wanted = Boolean(more && !more.busy && !more.error) && last >= count - ahead;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a page of which nothing is shown changes neither, but the count
  useEffect(() => {
    if (wanted) latest.current?.load();
  }, [wanted, count]);
}

/** That there is more, but not to be had now. */
export function MoreFailed({ more }: { more: More | undefined }) {
  return more?.error ? <Failure error={more.error} retry={more.load} /> : null;
}
