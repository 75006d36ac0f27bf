import { useInfiniteQuery } from "@tanstack/react-query";
import { Activity } from "lucide-react";
import { useCallback, useMemo } from "react";
import { pipelineQueries } from "~/api/pipelines";
import type { Job, PipelineInfo } from "~/api/types";
import { exactly, seconds, shortId } from "~/lib/format";
import { paths, shown } from "~/lib/names";
import { Chart } from "~/ui/chart/Chart";
import type { PlotProps } from "~/ui/chart/Plot";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { moreOf } from "~/ui/More";
import { Panel } from "~/ui/Page";
import { State, toneOf } from "~/ui/State";
import { Lasting, Time } from "~/ui/Time";
import { took } from "../JobBars";
import { type Then, wasThere } from "../then";
import { datumWords, rowWords, unitOf } from "../words";

const COLUMNS: Column<Job>[] = [
  {
    id: "id",
    title: "Job",
    cell: (job) => (
      <Link to={paths.job(job.pipeline, job.id)} className="mono">
        {shortId(job.id)}
      </Link>
    ),
  },
  {
    id: "state",
    title: "State",
    cell: (job) => <State state={job.state} />,
    sort: (job) => job.state,
  },
  { id: "cause", title: "Cause", cell: (job) => job.reason || job.cause, wide: true },
  {
    id: "version",
    title: "Version",
    cell: (job) => `v${job.version}`,
    sort: (job) => job.version,
    right: true,
  },
  {
    id: "work",
    title: "Datums",
    cell: (job) => (
      <span style={{ whiteSpace: "nowrap" }}>{datumWords(job.counts, unitOf(job))}</span>
    ),
  },
  {
    id: "rows",
    title: "Rows",
    cell: (job) => rowWords(job.counts),
    sort: (job) => job.counts.rows_out ?? -1,
    right: true,
  },
  {
    id: "took",
    title: "Took",
    cell: (job) => <Lasting from={job.started} to={job.finished} />,
    sort: took,
    right: true,
  },
  {
    id: "created",
    title: "Created",
    cell: (job) => <Time at={job.created} />,
    sort: (job) => job.created,
  },
];

/** Room at the sides of the chart in milliseconds: one job alone has no width. */
const AROUND = 2000;

/** The jobs of a pipeline over time: a picture, and the same as a list. */
export function JobsTab({ pipeline, then }: { pipeline: PipelineInfo; then?: Then }) {
  const jobs = useInfiniteQuery(pipelineQueries.jobs(pipeline.name));
  const all = useMemo(
    () => jobs.data?.pages.flatMap((page) => page.items).filter((job) => wasThere(job, then)),
    [jobs.data, then],
  );
  return (
    <Answer of={{ ...jobs, data: all }}>
      {(found) =>
        found.length === 0 ? (
          <Panel>
            <Empty
              title="No jobs yet"
              icon={Activity}
              command={`trunkline pipeline run ${shown(pipeline.name)}`}
            >
              A job starts when an input gets a commit, at a tick of a schedule, or by hand:
            </Empty>
          </Panel>
        ) : (
          <div className="stack">
            <Panel title="How long jobs took" padded>
              <Durations jobs={found} />
            </Panel>
            <Panel>
              <List
                label="Jobs"
                items={found}
                columns={COLUMNS}
                keyOf={(job) => job.id}
                more={moreOf(jobs)}
              />
            </Panel>
          </div>
        )
      }
    </Answer>
  );
}

function Durations({ jobs }: { jobs: Job[] }) {
  const draw = useCallback<PlotProps["draw"]>(
    (plot) => {
      const points = jobs.map((job) => ({
        at: new Date(job.created),
        took: took(job),
        colour: `var(--${toneOf(job.state)})`,
        text: [
          `${job.state}, ${seconds(took(job))}`,
          datumWords(job.counts, unitOf(job)),
          rowWords(job.counts) && `${rowWords(job.counts)} rows`,
          exactly(job.created),
        ]
          .filter(Boolean)
          .join("\n"),
      }));
      const times = points.map((one) => one.at.getTime());
      return {
        color: { type: "identity" },
        x: {
          type: "time",
          label: null,
          domain: [Math.min(...times) - AROUND, Math.max(...times) + AROUND],
        },
        y: {
          type: "linear",
          label: "seconds",
          grid: true,
          domain: [0, Math.max(1, ...points.map((one) => one.took))],
          nice: true,
        },
        marginLeft: 48,
        marks: [
          plot.ruleX(points, { x: "at", y1: 0, y2: "took", stroke: "colour", strokeWidth: 2 }),
          plot.dot(points, { x: "at", y: "took", fill: "colour", r: 4 }),
          plot.tip(
            points,
            plot.pointer({
              x: "at",
              y: "took",
              title: "text",
              fill: "var(--surface)",
              stroke: "var(--line-strong)",
            }),
          ),
          plot.ruleY([0], { stroke: "var(--line-strong)" }),
        ],
      };
    },
    [jobs],
  );
  return (
    <Chart
      label={`How long each of ${jobs.length} jobs took, in the order of time. The list below tells the same.`}
      draw={draw}
      height={180}
    />
  );
}
