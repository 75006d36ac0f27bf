import { useQuery } from "@tanstack/react-query";
import { FolderOpen, GitBranch, GitCompare, Link2, Tag, Undo2, X } from "lucide-react";
import { useState } from "react";
import { commitQueries } from "~/api/commits";
import type { Commit, RepoName } from "~/api/types";
import { bytes, plural, shortId } from "~/lib/format";
import { full, paths, shown } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button, ButtonLink } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { Answer } from "~/ui/Messages";
import { Facts, Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { copyPermalink } from "../permalink";
import { NewBranchDialog, NewTagDialog } from "../refs/dialogs";
import { within } from "../where";
import { Changes } from "./Changes";
import styles from "./History.module.css";
import { RevertDialog } from "./RevertDialog";

type Asking = "branch" | "tag" | "revert" | null;

/** One commit: what is known of it, what it changed, and what can be done with it. */
export function CommitPanel({ repo, id }: { repo: RepoName; id: string }) {
  const found = useQuery(commitQueries.one(repo, id));
  const [, set] = useQueryState();
  return (
    <aside className={styles.panel} aria-label={`Commit ${shortId(id)}`}>
      <Panel
        title={<code>{shortId(id)}</code>}
        actions={
          <Button
            small
            kind="ghost"
            icon={X}
            label="Close the commit"
            onClick={() => set({ commit: null }, { push: true })}
          />
        }
      >
        <section className={`stack ${styles.scroll}`} aria-label="About the commit" tabIndex={0}>
          <Answer of={found}>{(commit) => <About repo={repo} commit={commit} />}</Answer>
        </section>
      </Panel>
    </aside>
  );
}

function About({ repo, commit }: { repo: RepoName; commit: Commit }) {
  const [asking, ask] = useState<Asking>(null);
  const close = () => ask(null);
  const step = (at: string) => (
    <Link key={at} to={within(repo, { tab: "history", commit: at })}>
      <code>{shortId(at)}</code>
    </Link>
  );
  return (
    <>
      <p style={{ overflowWrap: "anywhere", whiteSpace: "pre-wrap", fontWeight: 550 }}>
        {commit.message || "No message"}
      </p>
      <div className={styles.actions}>
        <ButtonLink small icon={FolderOpen} to={within(repo, { at: commit.id })}>
          Files
        </ButtonLink>
        {commit.parent && (
          <ButtonLink
            small
            icon={GitCompare}
            to={within(repo, { tab: "compare", old: commit.parent, new: commit.id })}
          >
            Compare with parent
          </ButtonLink>
        )}
        <Button small icon={GitBranch} onClick={() => ask("branch")}>
          Branch
        </Button>
        <Button small icon={Tag} onClick={() => ask("tag")}>
          Tag
        </Button>
        <Button small icon={Undo2} onClick={() => ask("revert")}>
          Revert
        </Button>
        <Button small icon={Link2} onClick={() => copyPermalink(repo, commit.id)}>
          Copy permalink
        </Button>
      </div>
      <Facts
        facts={[
          ["Author", commit.author],
          ["When", <Time key="at" at={commit.finished ?? commit.started} />],
          ["Branch", commit.branch],
          ["Origin", commit.origin],
          ["Size", `${bytes(commit.size)} in ${plural(commit.files, "file")}`],
          ["Parent", commit.parent ? step(commit.parent) : undefined],
          [
            "Merged",
            commit.merged.length > 0 ? (
              <span key="merged" className="row wrap">
                {commit.merged.map(step)}
              </span>
            ) : undefined,
          ],
          ["Error", commit.error ?? undefined],
          ["ID", <code key="id">{commit.id}</code>],
        ]}
      />
      <Causes repo={repo} commit={commit} />
      <Changes repo={repo} commit={commit.id} />
      {asking === "branch" && <NewBranchDialog repo={repo} start={commit.id} onClose={close} />}
      {asking === "tag" && <NewTagDialog repo={repo} start={commit.id} onClose={close} />}
      {asking === "revert" && <RevertDialog repo={repo} commit={commit} onClose={close} />}
    </>
  );
}

/** The change it belongs to, the job that made it, and what it was made from. */
function Causes({ repo, commit }: { repo: RepoName; commit: Commit }) {
  const set = useQuery(commitQueries.set(commit.id));
  const sources = set.data?.sources[shown(repo)] ?? set.data?.sources[full(repo)] ?? [];
  const others = (set.data?.commits.length ?? 1) - 1;
  const made = commit.origin === "pipeline" || commit.origin === "ingest";
  return (
    <div className="stack" style={{ gap: 6 }}>
      <h3>Where it comes from</h3>
      <p>
        <Link to={paths.set(commit.id)}>The whole change</Link>
        <span className="dim">
          {others > 0 ? `: ${plural(others, "other repo")} changed with it` : ""}
        </span>
      </p>
      {made && (
        <p>
          Made by <Link to={paths.job(repo, commit.id)}>job {shortId(commit.id)}</Link>
        </p>
      )}
      {sources.map((one) => (
        <p key={full(one.repo)}>
          from{" "}
          <Link to={within(one.repo, { tab: "history", commit: one.id })}>
            {shown(one.repo)}@{shortId(one.id)}
          </Link>
        </p>
      ))}
    </div>
  );
}
