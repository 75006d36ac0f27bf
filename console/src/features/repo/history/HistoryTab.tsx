import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { History as HistoryIcon, X } from "lucide-react";
import { commitQueries } from "~/api/commits";
import { repoQueries } from "~/api/repos";
import type { Commit, RepoName } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { shown } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Select } from "~/ui/Field";
import { Answer, Empty, Failure, Loading } from "~/ui/Messages";
import { moreOf } from "~/ui/More";
import { Panel } from "~/ui/Page";
import { AtPicker } from "../RefPicker";
import { useWhere } from "../where";
import { CommitList } from "./CommitList";
import { CommitPanel } from "./CommitPanel";
import styles from "./History.module.css";
import { labelsOf } from "./labels";

/** The commits of a repo as a graph; of all branches, or those that lead to one commit. */
export function HistoryTab({ repo }: { repo: RepoName }) {
  const [params, set] = useQueryState();
  const moment = useMoment();
  const path = params.get("path") ?? "";
  const chosen = params.get("commit");
  const one = Boolean(path || moment) || params.get("scope") === "one";
  return (
    <div className="stack">
      <div className="row wrap">
        <Select
          aria-label="Which commits"
          value={one ? "one" : ""}
          disabled={Boolean(path || moment)}
          onChange={(event) => set({ scope: event.target.value || null })}
          options={[
            { value: "", text: "All branches" },
            { value: "one", text: "What led to" },
          ]}
        />
        {one && <AtPicker repo={repo} clears={["commit"]} />}
        {path && (
          <span className="row">
            <span className="dim">that changed</span> <code className="clip">{path}</code>
            <Button
              small
              kind="ghost"
              icon={X}
              label="Show all paths"
              onClick={() => set({ path: null })}
            />
          </span>
        )}
      </div>
      <div className={`${styles.split} ${chosen ? styles.open : ""}`}>
        <Panel>{one ? <Log repo={repo} path={path} /> : <Whole repo={repo} />}</Panel>
        {chosen && <CommitPanel key={chosen} repo={repo} id={chosen} />}
      </div>
    </div>
  );
}

function Whole({ repo }: { repo: RepoName }) {
  const pages = useInfiniteQuery(commitQueries.history(repo));
  return <Pages repo={repo} pages={pages} />;
}

function Log({ repo, path }: { repo: RepoName; path: string }) {
  const { at, commit, error, retry } = useWhere(repo);
  if (error) return <Failure error={error} retry={retry} />;
  if (at === undefined || commit === undefined) return <Loading />;
  if (at === null || commit === null) return <NoCommits repo={repo} />;
  return <LogOf repo={repo} commit={commit} path={path} />;
}

function LogOf({ repo, commit, path }: { repo: RepoName; commit: string; path: string }) {
  const pages = useInfiniteQuery(commitQueries.log(repo, commit, path));
  return <Pages repo={repo} pages={pages} plain={path !== ""} />;
}

interface Fetched {
  data: { pages: { items: Commit[] }[] } | undefined;
  error: unknown;
  isPending: boolean;
  hasNextPage: boolean;
  isFetching: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  fetchNextPage: () => unknown;
  refetch: () => unknown;
}

/** `plain`: what is left of a history, without lines between. */
function Pages({ repo, pages, plain }: { repo: RepoName; pages: Fetched; plain?: boolean }) {
  const branches = useQuery(repoQueries.branches(repo));
  const tags = useQuery(repoQueries.tags(repo));
  const labels = labelsOf(branches.data ?? [], tags.data ?? []);
  return (
    <Answer of={pages}>
      {(data) => {
        const commits = data.pages.flatMap((page) => page.items);
        if (commits.length === 0 && !pages.hasNextPage) return <NoCommits repo={repo} />;
        return (
          <CommitList
            repo={repo}
            commits={commits}
            labels={labels}
            plain={plain}
            more={moreOf(pages)}
            busy={pages.isFetching}
          />
        );
      }}
    </Answer>
  );
}

function NoCommits({ repo }: { repo: RepoName }) {
  return (
    <Empty
      title="No commits"
      icon={HistoryIcon}
      command={`trunkline put ${shown(repo)}@main orders.csv`}
    >
      Each upload is a commit. So is each run of a pipeline.
    </Empty>
  );
}
