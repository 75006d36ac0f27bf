import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { GitCompare, GitMerge, MoveRight, Plus, Tag as TagIcon, Trash2 } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { commitQueries } from "~/api/commits";
import { repoQueries } from "~/api/repos";
import type { Branch, Commit, RepoName, Tag } from "~/api/types";
import { shortId } from "~/lib/format";
import { Button, ButtonLink } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { within } from "../where";
import {
  DeleteBranchDialog,
  DeleteTagDialog,
  MoveBranchDialog,
  NewBranchDialog,
  NewTagDialog,
} from "./dialogs";
import { triggerText } from "./triggers";

const MergeDialog = lazy(() =>
  import("~/features/compare/MergeDialog").then((found) => ({ default: found.MergeDialog })),
);

type Ask = (dialog: ReactNode) => void;

/** The commits that are loaded anyway: no request for each head. */
function useKnown(repo: RepoName): Map<string, Commit> {
  const history = useInfiniteQuery(commitQueries.history(repo));
  return new Map(
    history.data?.pages.flatMap((page) => page.items.map((one) => [one.id, one] as const)),
  );
}

export function RefsTab({ repo }: { repo: RepoName }) {
  const [dialog, ask] = useState<ReactNode>(null);
  const close = () => ask(null);
  const known = useKnown(repo);
  return (
    <div className="stack">
      <Branches repo={repo} known={known} ask={ask} close={close} />
      <Tags repo={repo} known={known} ask={ask} close={close} />
      <Suspense fallback={null}>{dialog}</Suspense>
    </div>
  );
}

interface Props {
  repo: RepoName;
  known: Map<string, Commit>;
  ask: Ask;
  close: () => void;
}

function Head({ repo, id }: { repo: RepoName; id: string | null }) {
  if (!id) return <span className="dim">no commit yet</span>;
  return (
    <Link to={within(repo, { tab: "history", commit: id })}>
      <code>{shortId(id)}</code>
    </Link>
  );
}

function Branches({ repo, known, ask, close }: Props) {
  const branches = useQuery(repoQueries.branches(repo));
  const triggers = useQuery(repoQueries.triggers(repo));
  const shared = { repo, onClose: close };
  const columns: Column<Branch>[] = [
    {
      id: "name",
      title: "Branch",
      cell: (one) => <Link to={within(repo, { at: one.name })}>{one.name}</Link>,
      sort: (one) => one.name,
    },
    { id: "head", title: "Head", cell: (one) => <Head repo={repo} id={one.head} /> },
    {
      id: "message",
      title: "Last commit",
      wide: true,
      cell: (one) => {
        const follows = triggers.data?.filter((trigger) => trigger.branch === one.name) ?? [];
        return (
          <>
            {known.get(one.head ?? "")?.message}
            {one.open && <span className="dim"> (a commit is open)</span>}
            {follows.map((trigger) => (
              <div key={String(trigger.on)} className="dim">
                {triggerText(trigger)}
              </div>
            ))}
          </>
        );
      },
    },
    {
      id: "when",
      title: "When",
      cell: (one) => <Time at={known.get(one.head ?? "")?.finished} />,
      sort: (one) => known.get(one.head ?? "")?.finished ?? "",
    },
    {
      id: "actions",
      title: "",
      cell: (one) => (
        <div className="row" style={{ justifyContent: "flex-end" }}>
          {one.name !== "main" && (
            <ButtonLink
              small
              kind="ghost"
              icon={GitCompare}
              label={`Compare ${one.name} with main`}
              to={within(repo, { tab: "compare", old: "main", new: one.name })}
            />
          )}
          <Button
            small
            kind="ghost"
            icon={GitMerge}
            label={`Merge ${one.name}`}
            onClick={() => ask(<MergeDialog repo={repo} source={one.name} onClose={close} />)}
          />
          <Button
            small
            kind="ghost"
            icon={MoveRight}
            label={`Move ${one.name}`}
            onClick={() => ask(<MoveBranchDialog {...shared} branch={one} />)}
          />
          <Button
            small
            kind="ghost"
            icon={Trash2}
            label={`Delete ${one.name}`}
            onClick={() => ask(<DeleteBranchDialog {...shared} name={one.name} />)}
          />
        </div>
      ),
    },
  ];
  return (
    <Panel
      title="Branches"
      actions={
        <Button small icon={Plus} onClick={() => ask(<NewBranchDialog {...shared} />)}>
          New branch
        </Button>
      }
    >
      <Answer of={branches}>
        {(all) => <List label="Branches" items={all} columns={columns} keyOf={(one) => one.name} />}
      </Answer>
    </Panel>
  );
}

function Tags({ repo, known, ask, close }: Props) {
  const tags = useQuery(repoQueries.tags(repo));
  const shared = { repo, onClose: close };
  const columns: Column<Tag>[] = [
    {
      id: "tag",
      title: "Tag",
      cell: (one) => <Link to={within(repo, { at: one.name })}>{one.name}</Link>,
      sort: (one) => one.name,
    },
    { id: "commit", title: "Commit", cell: (one) => <Head repo={repo} id={one.commit} /> },
    {
      id: "message",
      title: "Message",
      wide: true,
      cell: (one) => one.message || known.get(one.commit)?.message,
    },
    { id: "author", title: "By", cell: (one) => one.author },
    { id: "made", title: "Made", cell: (one) => <Time at={one.created} />, sort: (o) => o.created },
    {
      id: "actions",
      title: "",
      cell: (one) => (
        <Button
          small
          kind="ghost"
          icon={Trash2}
          label={`Delete ${one.name}`}
          onClick={() => ask(<DeleteTagDialog {...shared} name={one.name} />)}
        />
      ),
    },
  ];
  return (
    <Panel
      title="Tags"
      actions={
        <Button small icon={Plus} onClick={() => ask(<NewTagDialog {...shared} />)}>
          New tag
        </Button>
      }
    >
      <Answer of={tags}>
        {(all) => (
          <List
            label="Tags"
            items={all}
            columns={columns}
            keyOf={(one) => one.name}
            sortName="tags"
            empty={
              <Empty title="No tags" icon={TagIcon}>
                A tag names a commit for good, such as a release.
              </Empty>
            }
          />
        )}
      </Answer>
    </Panel>
  );
}
