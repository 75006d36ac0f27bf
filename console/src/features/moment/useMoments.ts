import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { overviewQueries } from "~/api/overview";
import { useQueryState } from "~/lib/url";
import { MOMENT } from "~/ui/Link";
import { placeOf, type SetSummary } from "./moments";

const PAGES = 10;

/** The moments of the lake, the one that is looked at, and how to go to another. */
export function useMoments() {
  const client = useQueryClient();
  const [params, set] = useQueryState();
  const moment = params.get(MOMENT) ?? undefined;
  const query = useInfiniteQuery(overviewQueries.sets());
  const { data, hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = query;
  const sets = useMemo<SetSummary[]>(
    () => (data?.pages.flatMap((page) => page.items) ?? []).reverse(),
    [data],
  );
  const place = placeOf(moment, sets);

  // A link may lead further back than what has been fetched.
  const missing =
    place < 0 && hasNextPage && !isFetchNextPageError && (data?.pages.length ?? 0) < PAGES;
  useEffect(() => {
    if (missing && !isFetchingNextPage) void fetchNextPage();
  }, [missing, isFetchingNextPage, fetchNextPage]);

  const go = useCallback(
    (to: number) => {
      const next = sets[to];
      // Back leads to now, not through every moment that was passed by.
      set({ [MOMENT]: next?.id ?? null }, { push: moment === undefined });
      const after = sets[to + 1];
      if (after) void client.prefetchQuery(overviewQueries.at(after.id));
    },
    [sets, set, moment, client],
  );
  return {
    sets,
    moment,
    place,
    at: sets[place],
    go,
    error: query.error,
    older: hasNextPage ? () => void fetchNextPage() : undefined,
    busy: isFetchingNextPage,
  };
}
