import { useInfiniteQuery } from "@tanstack/react-query";
import { Clock, History } from "lucide-react";
import { overviewQueries } from "~/api/overview";
import type { Schema } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { briefly, shortId } from "~/lib/format";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { MOMENT } from "~/ui/Link";
import { Popover } from "~/ui/Menu";
import { Answer } from "~/ui/Messages";
import styles from "./Sql.module.css";

type SetSummary = Schema<"SetSummary">;

/** The newest set before today began, in the reader's zone. */
export function yesterday(sets: SetSummary[], now = new Date()): SetSummary | undefined {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  return sets.find((set) => Date.parse(set.at) < midnight);
}

/** Which moment of the lake is asked: now, or as of a commit set. */
export function AsOf({ project }: { project: string }) {
  const moment = useMoment();
  const [, set] = useQueryState();
  const sets = useInfiniteQuery(overviewQueries.sets(project, 100));
  const choose = (id: string | null) => set({ [MOMENT]: id });
  const list = (all: SetSummary[]) => {
    const before = yesterday(all);
    return (
      <div className={styles.moments}>
        <button type="button" aria-pressed={!moment} onClick={() => choose(null)}>
          Now
        </button>
        {before && (
          <button type="button" onClick={() => choose(before.id)}>
            Yesterday, at its end
          </button>
        )}
        {all.map((one) => (
          <button
            key={one.id}
            type="button"
            aria-pressed={one.id === moment}
            onClick={() => choose(one.id)}
          >
            <span className="dim">{briefly(one.at)}</span>
            <span className="grow clip">
              {one.message || one.repos.map((repo) => repo.repo).join(", ")}
            </span>
          </button>
        ))}
        {sets.hasNextPage && (
          <Button
            small
            kind="ghost"
            busy={sets.isFetchingNextPage}
            onClick={() => void sets.fetchNextPage()}
          >
            Earlier
          </Button>
        )}
      </div>
    );
  };
  return (
    <Popover
      body={
        <Answer of={{ ...sets, data: sets.data?.pages.flatMap((page) => page.items) }}>
          {list}
        </Answer>
      }
    >
      <Button icon={moment ? History : Clock} title="Which moment of the lake is asked">
        {moment ? `as of ${shortId(moment)}` : "as of now"}
      </Button>
    </Popover>
  );
}
