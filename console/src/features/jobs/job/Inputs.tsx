import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { jobQueries } from "~/api/jobs";
import type { Job } from "~/api/types";
import { shortId } from "~/lib/format";
import { full, paths, same, shown } from "~/lib/names";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Empty } from "~/ui/Messages";

type Input = NonNullable<Job["inputs"]>[number];

/** The last job before this one that went well: what was new, was new since then. */
export function jobBefore(job: Job, jobs: Job[]): Job | undefined {
  return jobs
    .filter((one) => one.state === "success" && one.branch === job.branch)
    .filter((one) => one.created < job.created)
    .reduce<Job | undefined>(
      (last, one) => (last && last.created > one.created ? last : one),
      undefined,
    );
}

function Changed({ input, before }: { input: Input; before: Job | undefined }) {
  if (!input.commit) return <span className="dim">–</span>;
  const then = before?.inputs?.find(
    (one) => one.name === input.name && same(one.repo, input.repo),
  )?.commit;
  if (then === input.commit) return <span className="dim">nothing</span>;
  const query = new URLSearchParams({
    tab: "compare",
    old: then ?? `${input.commit}~1`,
    new: input.commit,
  });
  return (
    <Link to={`${paths.repo(input.repo)}?${query}`} style={{ whiteSpace: "nowrap" }}>
      Compare<span className="sr-only"> {shown(input.repo)}</span>
      {then && <span className="dim"> since {shortId(then)}</span>}
    </Link>
  );
}

function columns(before: Job | undefined): Column<Input>[] {
  return [
    { id: "name", title: "Input", cell: (one) => one.name },
    {
      id: "at",
      title: "At",
      wide: true,
      cell: (one) =>
        one.commit ? (
          <Link to={`${paths.repo(one.repo)}?at=${one.commit}`}>
            {shown(one.repo)}
            <span className="mono">@{shortId(one.commit)}</span>
          </Link>
        ) : (
          <span className="dim">{shown(one.repo)}, which had no commit</span>
        ),
    },
    { id: "branch", title: "Branch", cell: (one) => one.branch },
    {
      id: "changed",
      title: "What changed",
      cell: (one) => <Changed input={one} before={before} />,
    },
  ];
}

/** The commits that the job read, and what was new in each. */
export function Inputs({ job }: { job: Job }) {
  const jobs = useInfiniteQuery(jobQueries.list({ pipeline: full(job.pipeline) }));
  const before = useMemo(
    () => jobBefore(job, jobs.data?.pages.flatMap((page) => page.items) ?? []),
    [job, jobs.data],
  );
  return (
    <List
      label="Inputs"
      items={job.inputs ?? []}
      columns={columns(before)}
      keyOf={(one) => `${full(one.repo)} ${one.name} ${one.branch}`}
      sortName="inputs"
      empty={<Empty title="It reads nothing." />}
    />
  );
}
