import { useQuery } from "@tanstack/react-query";
import { Activity, Code, Database, GitFork, Pause, Play, Table2, Terminal, X } from "lucide-react";
import { useState } from "react";
import { jobQueries } from "~/api/jobs";
import { pausePipeline, resumePipeline, runPipeline } from "~/api/pipelines";
import type { RepoName } from "~/api/types";
import { bytes, count, plural, shortId } from "~/lib/format";
import { full, paths, ref, shown } from "~/lib/names";
import { Button, ButtonLink } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { Answer } from "~/ui/Messages";
import { Facts } from "~/ui/Page";
import { State } from "~/ui/State";
import { Lasting, Time } from "~/ui/Time";
import { attempt } from "~/ui/toast";
import { domId } from "./GraphNode";
import styles from "./GraphPage.module.css";
import { freshness, type Graph, kindOf, type LakeNode } from "./graph";
import { KindIcon } from "./kinds";

interface Props {
  node: LakeNode;
  graph: Graph;
  moment: string | undefined;
  onChoose: (id: string) => void;
}

function Names({ ids, graph, onChoose }: Pick<Props, "graph" | "onChoose"> & { ids: string[] }) {
  if (ids.length === 0) return undefined;
  return (
    <span className={styles.names}>
      {ids.map((id) => {
        const node = graph.nodes.get(id);
        return (
          <button key={id} type="button" className={styles.link} onClick={() => onChoose(id)}>
            {node ? shown(node.name) : id}
          </button>
        );
      })}
    </span>
  );
}

/** What one can do with it. The past cannot be run or paused. */
function Actions({ node }: { node: LakeNode }) {
  const [busy, setBusy] = useState("");
  const act = (what: string, doing: Promise<unknown>, done: string) => {
    setBusy(what);
    void attempt(doing, done).finally(() => setBusy(""));
  };
  const name = shown(node.name);
  return (
    <div className="row wrap">
      {node.kind === "pipeline" && (
        <Button
          kind="primary"
          small
          icon={Play}
          busy={busy === "run"}
          onClick={() => act("run", runPipeline(node.name), `Started ${name}.`)}
        >
          Run
        </Button>
      )}
      {node.paused ? (
        <Button
          small
          icon={Play}
          busy={busy === "resume"}
          onClick={() => act("resume", resumePipeline(node.name), `Resumed ${name}.`)}
        >
          Resume
        </Button>
      ) : (
        <Button
          small
          icon={Pause}
          busy={busy === "pause"}
          onClick={() => act("pause", pausePipeline(node.name), `Paused ${name}.`)}
        >
          Pause
        </Button>
      )}
    </div>
  );
}

function Places({ node }: { node: LakeNode }) {
  const { name, kind, version } = node;
  const flows = kind === "stream" || kind === "ingest";
  return (
    <nav className="row wrap" aria-label={`Screens of ${shown(name)}`}>
      <ButtonLink small icon={Database} to={paths.repo(name)}>
        Repo
      </ButtonLink>
      <ButtonLink small icon={Table2} to={paths.table(name)}>
        Table
      </ButtonLink>
      {version && (
        <ButtonLink small icon={Code} to={`${paths.pipeline(name)}?tab=code`}>
          Code
        </ButtonLink>
      )}
      {flows && (
        <ButtonLink small icon={Activity} to={paths.stream(name)}>
          {kind === "stream" ? "Stream" : "Ingest"}
        </ButtonLink>
      )}
      <ButtonLink small icon={GitFork} to={paths.lineage(ref(name, node.head?.commit ?? "main"))}>
        Lineage
      </ButtonLink>
      <ButtonLink small icon={Terminal} to={paths.sql(`SELECT * FROM ${tableOf(name)} LIMIT 100`)}>
        SQL
      </ButtonLink>
    </nav>
  );
}

/** A repo as SQL names it. */
const tableOf = (name: RepoName): string =>
  /^[a-z_]\w*$/i.test(shown(name)) ? shown(name) : `"${shown(name)}"`;

function Why({ name, job }: { name: RepoName; job: string }) {
  const [open, setOpen] = useState(false);
  const why = useQuery({ ...jobQueries.why(name, job), enabled: open });
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Why it ran</summary>
      {open && (
        <Answer of={why}>
          {({ lines }) => (
            <>
              {lines.map((line) => (
                <p key={line}>{line}</p>
              ))}
            </>
          )}
        </Answer>
      )}
    </details>
  );
}

function LastJob({ node: { name, job } }: { node: LakeNode }) {
  if (!job) return null;
  const datums = [
    [job.processed, "done"],
    [job.skipped, "skipped"],
    [job.failed, "failed"],
  ]
    .filter(([n]) => n)
    .map(([n, what]) => `${count(Number(n))} ${what}`);
  return (
    <section>
      <h3>Last job</h3>
      <Facts
        facts={[
          ["State", <State key="state" state={job.state} />],
          [
            "Job",
            <Link key="job" to={paths.job(name, job.id)} className="mono">
              {shortId(job.id)}
            </Link>,
          ],
          [
            "Set",
            <Link key="set" to={paths.set(job.id)}>
              All that came of this change
            </Link>,
          ],
          ["Cause", job.cause],
          ["Reason", job.reason],
          ["Began", <Time key="began" at={job.started ?? job.created} />],
          ["Took", job.started && <Lasting from={job.started} to={job.finished} />],
          ["Datums", datums.length > 0 ? `${datums.join(", ")} of ${count(job.total)}` : undefined],
          [
            "Rows",
            job.rows_out != null
              ? `${count(job.rows_in ?? 0)} in, ${count(job.rows_out)} out`
              : undefined,
          ],
          ["Written", job.bytes_out > 0 ? bytes(job.bytes_out) : undefined],
        ]}
      />
      <Why key={job.id} name={name} job={job.id} />
    </section>
  );
}

function HeadCommit({ node: { name, head } }: { node: LakeNode }) {
  return (
    <section>
      <h3>Newest commit</h3>
      {head ? (
        <Facts
          facts={[
            [
              "Commit",
              <Link key="c" to={`${paths.repo(name)}?at=${head.commit}`} className="mono">
                {shortId(head.commit)}
              </Link>,
            ],
            ["Message", head.message],
            ["Author", head.author],
            ["When", <Time key="t" at={head.at} />],
            ["Holds", `${plural(head.files, "file")}, ${bytes(head.size)}`],
          ]}
        />
      ) : (
        <p className="dim">It has none yet.</p>
      )}
    </section>
  );
}

/** Everything about one node, and where to go from it. */
export function NodePanel({ node, graph, moment, onChoose }: Props) {
  const id = full(node.name);
  const { checks } = node;
  const close = () => {
    onChoose("");
    document.getElementById(domId(id))?.focus();
  };
  const names = (ids: string[] = []) =>
    ids.length > 0 ? <Names ids={ids} graph={graph} onChoose={onChoose} /> : undefined;
  const broken =
    checks &&
    [
      [checks.passed, "passed"],
      [checks.warned, "warned"],
      [checks.quarantined, "quarantined"],
      [checks.failed, "failed"],
    ]
      .filter(([n]) => n)
      .map(([n, what]) => `${n} ${what}`)
      .join(", ");
  return (
    <aside className={styles.panel} aria-label={`About ${shown(node.name)}`}>
      <header>
        <KindIcon kind={node.kind} size={20} />
        <h2 className="grow">{shown(node.name)}</h2>
        {node.state && <State state={node.state} />}
        <Button small kind="ghost" icon={X} label="Close" onClick={close} />
      </header>
      {node.description && <p>{node.description}</p>}
      {node.version && !moment && <Actions node={node} />}
      <Places node={node} />
      <Facts
        facts={[
          ["Kind", [kindOf(node), node.how !== node.kind && node.how].filter(Boolean).join(", ")],
          ["Version", node.version ? `v${node.version}` : undefined],
          ["Schedule", node.schedule],
          ["Freshness", freshness(node)],
          ["Late rows", node.late > 0 ? count(node.late) : undefined],
          ["Checks", broken],
          ["Reads", names(graph.up.get(id))],
          ["Read by", names(graph.down.get(id))],
        ]}
      />
      <LastJob node={node} />
      <HeadCommit node={node} />
    </aside>
  );
}
