import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Grid3x3 } from "lucide-react";
import { useCallback, useEffect, useMemo } from "react";
import { jobQueries } from "~/api/jobs";
import { overviewQueries } from "~/api/overview";
import type { Job } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { full } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Check, Select } from "~/ui/Field";
import { Answer, Empty, Loading } from "~/ui/Messages";
import { GridCanvas } from "./GridCanvas";
import { JobPanel } from "./JobPanel";
import styles from "./JobsGrid.module.css";
import { shapeGrid } from "./shape";

const PAGE = 500;
/** Columns that fill a wide screen, and how many pages to look through for them. */
const ENOUGH = 60;
const MOST_PAGES = 8;

const nameOf = (job: Job): string => `${full(job.pipeline)}@${job.id}`;

/** Commit sets by pipelines: what ran when, and what failed, at a glance. */
export function JobsGrid() {
  const [params, set] = useQueryState();
  const moment = useMoment();
  const project = params.get("project") ?? "";
  const streams = params.get("streams") === "1";
  const overview = useQuery(overviewQueries.at());
  const jobs = useInfiniteQuery(jobQueries.list({ project: project || undefined }, PAGE));
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = jobs;
  const all = useMemo(() => {
    const found = jobs.data?.pages.flatMap((page) => page.items) ?? [];
    return moment ? found.filter((job) => job.id.slice(0, moment.length) <= moment) : found;
  }, [jobs.data, moment]);
  const grid = useMemo(
    () => shapeGrid(all, overview.data?.edges ?? [], streams),
    [all, overview.data, streams],
  );
  const pages = jobs.data?.pages.length ?? 0;
  const few = grid.columns.length < ENOUGH && pages < MOST_PAGES && !isFetchNextPageError;
  useEffect(() => {
    if (few && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [few, hasNextPage, isFetchingNextPage, fetchNextPage]);
  const older = useCallback(() => void fetchNextPage(), [fetchNextPage]);
  const choose = useCallback(
    (job: Job | null) => set({ job: job && nameOf(job) }, { push: true }),
    [set],
  );
  const asked = params.get("job");
  const chosen = asked ? all.find((job) => nameOf(job) === asked) : undefined;
  const projects = [...new Set(overview.data?.nodes.map((node) => node.name.project))].sort();
  return (
    <div className={styles.screen}>
      <div className="row wrap">
        {(projects.length > 1 || project) && (
          <Select
            aria-label="Project"
            value={project}
            onChange={(event) => set({ project: event.target.value, job: null })}
            options={[
              { value: "", text: "All projects" },
              ...projects.map((value) => ({ value, text: value })),
            ]}
          />
        )}
        <Check
          label="With what only streams did"
          checked={streams}
          onChange={(on) => set({ streams: on ? "1" : null })}
        />
        <span className="grow" />
        {isFetchingNextPage && <span className="dim">Loading older sets</span>}
        {hasNextPage && !isFetchingNextPage && (
          <Button small onClick={older}>
            Older sets
          </Button>
        )}
      </div>
      <Answer of={jobs}>
        {() =>
          grid.columns.length > 0 ? (
            <div className={styles.both}>
              <GridCanvas grid={grid} chosen={asked ?? ""} onChoose={choose} />
              {chosen && <JobPanel job={chosen} onClose={() => choose(null)} />}
            </div>
          ) : isFetchingNextPage ? (
            <Loading what="Looking for sets" />
          ) : all.length > 0 ? (
            <Empty title="Nothing but streams ran" icon={Grid3x3}>
              <Button onClick={() => set({ streams: "1" })}>Show what they did</Button>
            </Empty>
          ) : (
            <Empty title="No jobs yet" icon={Grid3x3} command="trunkline pipeline apply clean.yaml">
              Each change of data is a column here, each pipeline a row.
            </Empty>
          )
        }
      </Answer>
    </div>
  );
}
