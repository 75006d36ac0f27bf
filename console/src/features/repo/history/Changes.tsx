import { useInfiniteQuery } from "@tanstack/react-query";
import { commitQueries } from "~/api/commits";
import type { RepoName, Schema } from "~/api/types";
import { bytes } from "~/lib/format";
import { Button } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { Answer } from "~/ui/Messages";
import { within } from "../where";
import styles from "./History.module.css";

const SIGNS = { added: "+", removed: "−", modified: "~" };

/** What a commit changed, file by file. */
export function Changes({ repo, commit }: { repo: RepoName; commit: string }) {
  const pages = useInfiniteQuery(commitQueries.changes(repo, commit));
  return (
    <div className="stack" style={{ gap: 6 }}>
      <h3>What it changed</h3>
      <Answer of={pages}>
        {(data) => {
          const changes = data.pages.flatMap((page) => page.items);
          if (changes.length === 0) return <p className="dim">No file.</p>;
          return (
            <>
              <ul className={styles.changes} aria-label="Changes">
                {changes.map((change) => (
                  <Change key={change.path} repo={repo} commit={commit} change={change} />
                ))}
              </ul>
              {pages.hasNextPage && (
                <Button small busy={pages.isFetching} onClick={() => void pages.fetchNextPage()}>
                  Show more
                </Button>
              )}
            </>
          );
        }}
      </Answer>
    </div>
  );
}

function Change(props: { repo: RepoName; commit: string; change: Schema<"Change"> }) {
  const { repo, commit, change } = props;
  const at = change.change === "removed" ? `${commit}~1` : commit;
  return (
    <li className={styles.change}>
      <span className={`${styles.sign} ${styles[change.change]}`} title={change.change}>
        <span aria-hidden>{SIGNS[change.change]}</span>
        <span className="sr-only">{change.change}</span>
      </span>
      <Link to={within(repo, { at, path: change.path })} className="grow clip" title={change.path}>
        {change.path}
      </Link>
      <span className="num dim">{bytes(change.new_size ?? change.old_size ?? 0)}</span>
    </li>
  );
}
