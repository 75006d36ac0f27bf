import { useQuery } from "@tanstack/react-query";
import { Boxes, Plus } from "lucide-react";
import { useMemo } from "react";
import { overviewQueries } from "~/api/overview";
import { pipelineQueries } from "~/api/pipelines";
import type { Job, Schema } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { full, shown } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { ButtonLink } from "~/ui/Button";
import { SearchBox, Select } from "~/ui/Field";
import { Link, PipelineLink, RepoLink } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Page, Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import { Time } from "~/ui/Time";
import { JobBars } from "./JobBars";
import styles from "./PipelinesPage.module.css";
import { type Then, wasThere } from "./then";
import { behindWords, howWords } from "./words";

type Node = Schema<"OverviewNode">;
const BARS = 20;

const columns = (jobs: Map<string, Job[]>): Column<Node>[] => [
  {
    id: "name",
    title: "Pipeline",
    cell: (one) => (
      <div className={styles.name}>
        <PipelineLink name={one.name} />
        <div className="dim clip" title={one.description}>
          {one.description}
        </div>
      </div>
    ),
    sort: (one) => shown(one.name),
  },
  {
    id: "how",
    title: "Kind",
    cell: (one) => <span className={styles.line}>{howWords(one)}</span>,
    sort: howWords,
  },
  {
    id: "state",
    title: "State",
    cell: (one) => <State state={one.state} />,
    sort: (one) => one.state,
  },
  {
    id: "schedule",
    title: "Schedule",
    cell: (one) => one.schedule || <span className={`dim ${styles.line}`}>on change</span>,
  },
  {
    id: "inputs",
    title: "Inputs",
    cell: (one) => (
      <span className="row wrap" style={{ gap: "2px 8px" }}>
        {one.inputs.map((name) => (
          <RepoLink key={full(name)} name={name} />
        ))}
      </span>
    ),
  },
  {
    id: "behind",
    title: "Behind",
    cell: (one) => behindWords(one.behind) || <span className="dim">–</span>,
    sort: (one) => one.behind,
    right: true,
  },
  {
    id: "last",
    title: "Last run",
    cell: (one) => <Time at={one.job?.created ?? one.head?.at} />,
    sort: (one) => one.job?.created ?? one.head?.at ?? "",
  },
  {
    id: "bars",
    title: `Last ${BARS} jobs`,
    cell: (one) => <JobBars jobs={jobs.get(full(one.name)) ?? []} />,
  },
];

/** The last jobs of each pipeline up to a moment, oldest first. */
export function byPipeline(jobs: Job[], then: Then | undefined): Map<string, Job[]> {
  const found = new Map<string, Job[]>();
  for (const job of jobs) {
    if (!wasThere(job, then)) continue;
    const some = found.get(full(job.pipeline)) ?? [];
    if (some.length < BARS) found.set(full(job.pipeline), [job, ...some]);
  }
  return found;
}

export default function PipelinesPage() {
  const moment = useMoment();
  const overview = useQuery(overviewQueries.at(moment));
  const latest = useQuery(pipelineQueries.latest());
  const [params, set] = useQueryState();
  const time = overview.data?.time;
  const jobs = useMemo(
    () => byPipeline(latest.data?.items ?? [], moment && time ? { set: moment, time } : undefined),
    [latest.data, moment, time],
  );
  const shape = useMemo(() => columns(jobs), [jobs]);
  const [text, state, project] = ["q", "state", "project"].map(
    (name) => params.get(name) ?? "",
  ) as [string, string, string];
  const choices = (all: string[], any: string) => [
    { value: "", text: any },
    ...[...new Set(all)].sort().map((value) => ({ value, text: value })),
  ];
  return (
    <Page
      title="Pipelines"
      about="Code that runs when its inputs change, or when its schedule says so."
      actions={
        <ButtonLink to="/pipelines/new" kind="primary" icon={Plus}>
          New pipeline
        </ButtonLink>
      }
    >
      <Answer of={overview}>
        {({ nodes }) => {
          const all = nodes.filter((one) => one.version !== null);
          const projects = choices(
            all.map((one) => one.name.project),
            "All projects",
          );
          const items = all.filter(
            (one) =>
              `${shown(one.name)} ${one.description}`.toLowerCase().includes(text.toLowerCase()) &&
              (!state || one.state === state) &&
              (!project || one.name.project === project),
          );
          return (
            <>
              <div className="row wrap">
                <div style={{ width: 300 }}>
                  <SearchBox label="Filter pipelines" value={text} onChange={(q) => set({ q })} />
                </div>
                <Select
                  aria-label="State"
                  value={state}
                  onChange={(event) => set({ state: event.target.value })}
                  options={choices(
                    [...all.map((one) => one.state), state].filter(Boolean),
                    "All states",
                  )}
                />
                {projects.length > 2 && (
                  <Select
                    aria-label="Project"
                    value={project}
                    onChange={(event) => set({ project: event.target.value })}
                    options={projects}
                  />
                )}
              </div>
              <Panel>
                <List
                  label="Pipelines"
                  items={items}
                  columns={shape}
                  keyOf={(one) => full(one.name)}
                  empty={
                    all.length > 0 ? (
                      <Empty title="No pipeline is like this" icon={Boxes}>
                        <Link to="/pipelines">Show all {all.length}.</Link>
                      </Empty>
                    ) : (
                      <Empty
                        title="No pipelines yet"
                        icon={Boxes}
                        command="trunkline pipeline apply clean.yaml"
                      >
                        A pipeline reads repos and keeps its output up to date.{" "}
                        <Link to="/pipelines/new">Make one here</Link>, or in a file:
                      </Empty>
                    )
                  }
                />
              </Panel>
            </>
          );
        }}
      </Answer>
    </Page>
  );
}
