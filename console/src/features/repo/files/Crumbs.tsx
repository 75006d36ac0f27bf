import { Fragment } from "react";
import type { RepoName } from "~/api/types";
import { Link } from "~/ui/Link";
import { within } from "../where";
import styles from "./Files.module.css";

/** The path from the root on, each folder a link. */
export function Crumbs({ repo, path, at }: { repo: RepoName; path: string; at: string | null }) {
  const parts = path.split("/").filter(Boolean);
  return (
    <nav aria-label="Path" className={styles.crumbs}>
      {parts.length === 0 ? (
        <span aria-current="page">{repo.repo}</span>
      ) : (
        <Link to={within(repo, { at })}>{repo.repo}</Link>
      )}
      {parts.map((part, n) => {
        const here = `/${parts.slice(0, n + 1).join("/")}`;
        return (
          <Fragment key={here}>
            <span aria-hidden className="dim">
              /
            </span>
            {n === parts.length - 1 ? (
              <span aria-current="page">{part}</span>
            ) : (
              <Link to={within(repo, { at, path: here })}>{part}</Link>
            )}
          </Fragment>
        );
      })}
    </nav>
  );
}
