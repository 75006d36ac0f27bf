import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { flowQueries } from "~/api/flows";
import type { RepoName } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";

/** The batches of a stream or an ingest up to the moment that is looked at, newest first. */
export function useBatches(name: RepoName) {
  const asked = useInfiniteQuery(flowQueries.batches(name));
  const moment = useMoment();
  const batches = useMemo(
    () =>
      (asked.data?.pages.flatMap((one) => one.items) ?? []).filter(
        // IDs begin with their time.
        (one) => !moment || one.commit <= moment,
      ),
    [asked.data, moment],
  );
  return { asked, batches };
}
