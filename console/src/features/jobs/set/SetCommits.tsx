import type { CommitSet } from "~/api/jobs";
import type { Commit } from "~/api/types";
import { bytes, count, shortId } from "~/lib/format";
import { full, paths, shown } from "~/lib/names";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { StateIcon } from "~/ui/State";

type Sources = CommitSet["sources"];

const stateOf = (commit: Commit): string =>
  commit.error ? "failed" : commit.finished ? "done" : "running";

function columns(sources: Sources): Column<Commit>[] {
  return [
    {
      id: "repo",
      title: "Repo",
      cell: (one) => (
        <span className="row">
          <StateIcon state={stateOf(one)} />
          <Link to={`${paths.repo(one.repo)}?at=${one.id}`}>{shown(one.repo)}</Link>
        </span>
      ),
      sort: (one) => shown(one.repo),
    },
    { id: "branch", title: "Branch", cell: (one) => one.branch },
    {
      id: "from",
      title: "Made from",
      wide: true,
      cell: (one) => {
        const from = sources[shown(one.repo)] ?? sources[full(one.repo)] ?? [];
        if (from.length === 0) return <span className="dim">{one.message || "–"}</span>;
        return (
          <span className="row wrap">
            {from.map((source) => (
              <Link
                key={`${full(source.repo)}@${source.id}`}
                to={`${paths.repo(source.repo)}?at=${source.id}`}
              >
                {shown(source.repo)}
                <span className="mono dim">
                  @{source.id === one.id ? "this set" : shortId(source.id)}
                </span>
              </Link>
            ))}
          </span>
        );
      },
    },
    {
      id: "files",
      title: "Files",
      cell: (one) => count(one.files),
      sort: (one) => one.files,
      right: true,
    },
    {
      id: "size",
      title: "Size",
      cell: (one) => bytes(one.size),
      sort: (one) => one.size,
      right: true,
    },
    {
      id: "changes",
      title: "What changed",
      cell: (one) =>
        one.parent ? (
          <Link to={`${paths.repo(one.repo)}?tab=compare&old=${one.parent}&new=${one.id}`}>
            Compare<span className="sr-only"> {shown(one.repo)} with the commit before</span>
          </Link>
        ) : (
          <span className="dim">its first</span>
        ),
    },
  ];
}

/** What the set is made of, and what each was made from. */
export function SetCommits({ commits, sources }: Pick<CommitSet, "commits" | "sources">) {
  return (
    <List
      label="Commits of the set"
      items={commits}
      columns={columns(sources)}
      keyOf={(one) => `${full(one.repo)}@${one.branch}`}
      sortName="commits"
    />
  );
}
