import { useQuery } from "@tanstack/react-query";
import { pipelineQueries } from "~/api/pipelines";
import type { PipelineInfo, Schema } from "~/api/types";
import { between, plural, seconds } from "~/lib/format";
import { paths, same } from "~/lib/names";
import { Link, RepoLink } from "~/ui/Link";
import { Answer } from "~/ui/Messages";
import { Facts, Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import { Time } from "~/ui/Time";
import { howWords } from "../words";
import { Neighbours } from "./Neighbours";
import styles from "./OverviewTab.module.css";
import { Rules } from "./Rules";

export function OverviewTab({
  pipeline,
  overview,
  moment,
}: {
  pipeline: PipelineInfo;
  overview: Schema<"Overview">;
  moment: string | undefined;
}) {
  const { name } = pipeline;
  const node = overview.nodes.find((one) => same(one.name, name));
  return (
    <div className={styles.halves}>
      <div className="stack">
        {!moment && <Why pipeline={pipeline} />}
        <Panel title="What it reads, and what reads it" padded>
          <Neighbours name={name} edges={overview.edges} nodes={overview.nodes} />
        </Panel>
        <Rules pipeline={pipeline} counts={node?.checks ?? null} />
      </div>
      <div className="stack">
        <Panel title="Last job" padded>
          {node?.job ? (
            <LastJob pipeline={pipeline} job={node.job} />
          ) : (
            <NoJob kind={pipeline.kind} />
          )}
        </Panel>
        <Panel title="About" padded>
          <About pipeline={pipeline} node={node} />
        </Panel>
      </div>
    </div>
  );
}

function Why({ pipeline }: { pipeline: PipelineInfo }) {
  const why = useQuery(pipelineQueries.why(pipeline.name));
  return (
    <Panel title={pipeline.paused ? "Why it does not run" : "What it is doing, and why"} padded>
      <Answer of={why}>
        {({ lines }) => (
          <div className={styles.lines}>
            {lines.map((line, n) => (
              <p key={n}>{line}</p>
            ))}
          </div>
        )}
      </Answer>
    </Panel>
  );
}

const NoJob = ({ kind }: { kind: string }) => (
  <p className="dim">
    {kind === "ingest" ? "An ingest takes data in without jobs." : "It has not run yet."}
  </p>
);

function LastJob({ pipeline, job }: { pipeline: PipelineInfo; job: Schema<"LastJob"> }) {
  const parts = (
    [
      [job.processed, "ran"],
      [job.skipped, "skipped"],
      [job.failed, "failed"],
    ] as const
  ).filter(([n]) => n > 0);
  const units =
    pipeline.kind === "stream" ? plural(job.total, "batch", "batches") : plural(job.total, "datum");
  return (
    <Facts
      facts={[
        [
          "Job",
          <Link key="job" to={paths.job(pipeline.name, job.id)} className="mono">
            {job.id.slice(0, 12)}
          </Link>,
        ],
        ["State", <State key="state" state={job.state} />],
        ["Reason", job.reason],
        ["Cause", job.cause],
        ["Started", <Time key="at" at={job.started ?? job.created} />],
        ["Took", job.started ? seconds(between(job.started, job.finished)) : undefined],
        [
          "Work",
          `${units}${parts.length > 0 ? ": " : ""}${parts.map(([n, word]) => `${n} ${word}`).join(", ")}`,
        ],
        [
          "Rows",
          job.rows_in !== null && job.rows_out !== null
            ? `${plural(job.rows_in ?? 0, "row")} in, ${plural(job.rows_out ?? 0, "row")} out`
            : undefined,
        ],
      ]}
    />
  );
}

function About({
  pipeline,
  node,
}: {
  pipeline: PipelineInfo;
  node: Schema<"OverviewNode"> | undefined;
}) {
  const spec = pipeline.spec ?? {};
  const ticks = useQuery(pipelineQueries.ticks(pipeline.name, 3));
  const version = node?.version ?? pipeline.version;
  const flow = pipeline.kind === "stream" || pipeline.kind === "ingest";
  return (
    <Facts
      facts={[
        ["Kind", node ? howWords(node) : pipeline.kind],
        [
          "Version",
          <Link key="v" to={`${paths.pipeline(pipeline.name)}?tab=code`}>
            v{version}
          </Link>,
        ],
        ["Output", <RepoLink key="out" name={pipeline.name} />],
        [
          "Streaming",
          flow ? (
            <Link key="flow" to={paths.stream(pipeline.name)}>
              its batches and progress
            </Link>
          ) : undefined,
        ],
        [
          "Schedule",
          node?.schedule || (pipeline.inputs.length > 0 ? "when its inputs change" : ""),
        ],
        [
          "Next ticks",
          ticks.data && ticks.data.items.length > 0 ? (
            <span key="ticks" className="row wrap">
              {ticks.data.items.map((tick) => (
                <Time key={tick.at} at={tick.at} />
              ))}
            </span>
          ) : undefined,
        ],
        ["Pool", plain(spec.pool)],
        ["Priority", plain(spec.priority)],
        ["Created", <Time key="created" at={pipeline.created} />],
        ["Changed", <Time key="updated" at={pipeline.updated} />],
      ]}
    />
  );
}

const plain = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value) : undefined;
