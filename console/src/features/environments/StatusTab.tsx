import type { BranchState, EnvironmentStatus, PipelineState } from "~/api/environments";
import { within } from "~/features/repo/where";
import { plural } from "~/lib/format";
import { full, paths, shown } from "~/lib/names";
import { Link, PipelineLink } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Empty, Note } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import styles from "./Environments.module.css";
import { codeWords, dataWords } from "./words";

/** What is not as in the base comes first. */
const differentFirst = <One extends { state: string }>(all: One[]): One[] =>
  [...all].sort((a, b) => Number(a.state === "same") - Number(b.state === "same"));

export const Word = ({ state, children }: { state: string; children: string }) => (
  <span className={`${styles.word} ${styles[state] ?? ""}`}>{children}</span>
);

const version = (number: number) => (number > 0 ? `v${number}` : <span className="dim">none</span>);

/** How far an environment is from its base: its code and its data. */
export function StatusTab({ status }: { status: EnvironmentStatus }) {
  const { environment, pipelines, branches, unfinished } = status;
  const { base, name } = environment;
  const code: Column<PipelineState>[] = [
    {
      id: "name",
      title: "Pipeline",
      // The page of a pipeline shows that of the base.
      cell: (one) => (one.base_version > 0 ? <PipelineLink name={one.name} /> : shown(one.name)),
      sort: (one) => shown(one.name),
      wide: true,
    },
    {
      id: "state",
      title: "Code",
      cell: (one) => <Word state={one.state}>{codeWords(one.state, base)}</Word>,
      sort: (one) => one.state,
    },
    { id: "here", title: `In ${name}`, cell: (one) => version(one.version), right: true },
    { id: "there", title: `In ${base}`, cell: (one) => version(one.base_version), right: true },
    {
      id: "job",
      title: "Last job here",
      cell: (one) =>
        one.last_job && one.last_state ? (
          <Link to={paths.job(one.name, one.last_job)}>
            <State state={one.last_state} />
          </Link>
        ) : (
          <span className="dim">none</span>
        ),
      sort: (one) => one.last_state ?? "",
      right: true,
    },
  ];
  const data: Column<BranchState>[] = [
    {
      id: "repo",
      title: "Branch",
      cell: (one) => (
        <Link to={within(one.repo, { at: one.branch })}>
          {shown(one.repo)}@{one.branch}
        </Link>
      ),
      sort: (one) => shown(one.repo),
      wide: true,
    },
    {
      id: "kind",
      title: "Kind",
      cell: (one) => (one.kind === "output" ? "computed" : "source"),
      sort: (one) => one.kind,
    },
    {
      id: "state",
      title: "Data",
      cell: (one) => <Word state={one.state}>{dataWords(one, one.base)}</Word>,
      sort: (one) => one.state,
      right: true,
    },
  ];
  return (
    <div className="stack">
      {unfinished > 0 && (
        <Note>{plural(unfinished, "job")} of it not over yet: a merge waits for that.</Note>
      )}
      <Panel title="Pipelines">
        <List
          label="Pipelines"
          items={differentFirst(pipelines)}
          columns={code}
          keyOf={(one) => full(one.name)}
          empty={<Empty title="The project has no pipelines" />}
        />
      </Panel>
      <Panel title="Data">
        <List
          label="Branches"
          sortName="bsort"
          items={differentFirst(branches)}
          columns={data}
          keyOf={(one) => `${full(one.repo)}@${one.branch}`}
          empty={<Empty title="The project has no repos" />}
        />
      </Panel>
    </div>
  );
}
