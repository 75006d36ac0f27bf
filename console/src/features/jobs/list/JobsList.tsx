import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Activity } from "lucide-react";
import { useMemo, useSyncExternalStore } from "react";
import { jobQueries, SHORTEST_ID } from "~/api/jobs";
import { overviewQueries } from "~/api/overview";
import { useMoment } from "~/features/moment/useMoment";
import { full, shown } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { SearchBox, Select } from "~/ui/Field";
import { Answer, Empty, Loading } from "~/ui/Messages";
import { moreOf } from "~/ui/More";
import { VirtualTable } from "~/ui/VirtualTable";
import { JOB_COLUMNS, type JobColumn } from "../columns";
import styles from "./JobsList.module.css";

const STATES = [
  "running",
  "waiting",
  "created",
  "finishing",
  "success",
  "failure",
  "killed",
  "unrunnable",
];
const FILTERS = ["state", "pipeline", "project", "id"] as const;
/** What a narrow window leaves out: the job's own screen has it. */
const LESS: JobColumn[] = ["set", "waited", "rows"];
const NARROW = window.matchMedia("(max-width: 1180px)");
const WITH_JOBS = ["pipeline", "stream"];

/** All jobs, newest first, narrowed by what the URL says. */
export function JobsList() {
  const [params, set] = useQueryState();
  const moment = useMoment();
  const filter = Object.fromEntries(
    FILTERS.map((name) => [name, params.get(name)?.trim() || undefined]),
  );
  const short = filter.id !== undefined && !isIdPrefix(filter.id);
  const jobs = useInfiniteQuery({
    ...jobQueries.list({ ...filter, id: short ? undefined : filter.id?.toLowerCase() }),
    enabled: !short,
  });
  const items = useMemo(() => {
    const all = jobs.data?.pages.flatMap((page) => page.items) ?? [];
    // IDs begin with their time, so what is not greater was there at that moment.
    return moment ? all.filter((job) => job.id.slice(0, moment.length) <= moment) : all;
  }, [jobs.data, moment]);
  const narrow = useSyncExternalStore(onWidth, () => NARROW.matches);
  const columns = narrow ? JOB_COLUMNS.filter((column) => !LESS.includes(column.id)) : JOB_COLUMNS;
  const filtered = FILTERS.some((name) => params.get(name));
  const clear = () => set(Object.fromEntries(FILTERS.map((name) => [name, null])));
  return (
    <div className={styles.screen}>
      <Filters />
      {short ? (
        <Empty title={`An ID has 32 digits of 0–9 and a–f. Give ${SHORTEST_ID} of them or more.`} />
      ) : (
        <Answer of={jobs}>
          {() =>
            items.length > 0 || jobs.hasNextPage ? (
              <div className={styles.table}>
                <VirtualTable
                  label="Jobs"
                  items={items}
                  columns={columns}
                  keyOf={(job) => `${full(job.pipeline)}@${job.id}`}
                  more={moreOf(jobs)}
                />
                {jobs.isFetchingNextPage && <Loading what="Loading more jobs" />}
              </div>
            ) : filtered ? (
              <Empty title="No job is like that" icon={Activity}>
                <Button onClick={clear}>Show all jobs</Button>
              </Empty>
            ) : (
              <Empty
                title="No jobs yet"
                icon={Activity}
                command="trunkline pipeline apply clean.yaml"
              >
                A pipeline has a job whenever what it reads has changed.
              </Empty>
            )
          }
        </Answer>
      )}
    </div>
  );
}

const isIdPrefix = (text: string): boolean => /^[0-9a-f]{8,32}$/i.test(text);

function onWidth(changed: () => void): () => void {
  NARROW.addEventListener("change", changed);
  return () => NARROW.removeEventListener("change", changed);
}

function Filters() {
  const [params, set] = useQueryState();
  const overview = useQuery(overviewQueries.at());
  const nodes = overview.data?.nodes.filter((node) => WITH_JOBS.includes(node.kind)) ?? [];
  const project = params.get("project") ?? "";
  const projects = [...new Set(nodes.map((node) => node.name.project))].sort();
  const options = (all: string, found: { value: string; text: string }[], chosen: string) => [
    { value: "", text: all },
    ...found,
    ...(chosen && !found.some((one) => one.value === chosen)
      ? [{ value: chosen, text: chosen }]
      : []),
  ];
  const choice = (name: string) => params.get(name) ?? "";
  return (
    <div className={styles.filters} role="search">
      <SearchBox
        label="First digits of an ID"
        value={choice("id")}
        onChange={(id) => set({ id })}
      />
      <Select
        aria-label="State"
        value={choice("state")}
        onChange={(event) => set({ state: event.target.value })}
        options={options(
          "Any state",
          STATES.map((value) => ({ value, text: value })),
          choice("state"),
        )}
      />
      <Select
        aria-label="Pipeline"
        value={choice("pipeline")}
        onChange={(event) => set({ pipeline: event.target.value })}
        options={options(
          "Any pipeline",
          nodes
            .filter((node) => !project || node.name.project === project)
            .map((node) => ({ value: full(node.name), text: shown(node.name) }))
            .sort((a, b) => a.text.localeCompare(b.text)),
          choice("pipeline"),
        )}
      />
      {(projects.length > 1 || project) && (
        <Select
          aria-label="Project"
          value={project}
          onChange={(event) => set({ project: event.target.value, pipeline: null })}
          options={options(
            "All projects",
            projects.map((value) => ({ value, text: value })),
            project,
          )}
        />
      )}
    </div>
  );
}
