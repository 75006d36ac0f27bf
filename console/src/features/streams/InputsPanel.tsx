import type { Schema, StreamStatus } from "~/api/types";
import { count, seconds, shortId } from "~/lib/format";
import { paths } from "~/lib/names";
import { Link, RepoLink } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";

type Input = Schema<"InputLag">;

const COLUMNS: Column<Input>[] = [
  { id: "name", title: "Input", cell: (i) => i.name },
  { id: "repo", title: "Repo", cell: (i) => <RepoLink name={i.repo} />, wide: true },
  { id: "branch", title: "Branch", cell: (i) => i.branch },
  {
    id: "read",
    title: "Read up to",
    cell: (i) =>
      i.read ? (
        <Link className="mono" to={`${paths.repo(i.repo)}?${new URLSearchParams({ at: i.read })}`}>
          {shortId(i.read)}
        </Link>
      ) : (
        <span className="dim">nothing yet</span>
      ),
  },
  { id: "commits", title: "Commits behind", cell: (i) => count(i.commits), right: true },
  {
    id: "seconds",
    title: "Time behind",
    cell: (i) => (i.commits === 0 ? "–" : seconds(i.seconds)),
    right: true,
  },
];

/** What a stream reads, and how far it is behind each. */
export function InputsPanel({ of }: { of: StreamStatus }) {
  return (
    <Panel title={`Inputs, read ${of.trigger}`}>
      <List
        label="Inputs"
        items={of.inputs}
        columns={COLUMNS}
        keyOf={(one) => one.name}
        empty={<Empty title="No inputs">It reads nothing that you may see.</Empty>}
      />
    </Panel>
  );
}
