import { useQuery } from "@tanstack/react-query";
import { GitFork } from "lucide-react";
import { useDeferredValue } from "react";
import { type Hit, lineageQueries } from "~/api/lineage";
import { overviewQueries } from "~/api/overview";
import type { RepoName } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { full, paths, ref, same, shown } from "~/lib/names";
import { useParam } from "~/lib/url";
import { SearchBox } from "~/ui/Field";
import { Link } from "~/ui/Link";
import { Answer, Empty, Note } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import styles from "./Lineage.module.css";

/** Where the lineage of something that was found begins. */
export function startOf(hit: Hit, head: (repo: RepoName) => string): string {
  const { kind, repo, text, commit, path, column } = hit;
  if (kind === "branch" || kind === "tag") return paths.lineage(ref(repo, text));
  if (kind === "commit" || kind === "job") return paths.lineage(ref(repo, commit ?? text));
  return paths.lineage(ref(repo, head(repo), path), column ?? undefined);
}

/** Chooses what to tell the lineage of. */
export function Start() {
  const [text, setText] = useParam("q");
  const wanted = useDeferredValue(text.trim());
  const moment = useMoment();
  const overview = useQuery(overviewQueries.at(moment));
  const found = useQuery(lineageQueries.search(wanted));
  const head = (repo: RepoName) =>
    (moment && overview.data?.nodes.find((one) => same(one.name, repo))?.head?.commit) || "main";
  return (
    <div className={styles.start}>
      <SearchBox
        label="Find a repo, table, column, file or commit"
        value={text}
        onChange={setText}
        autoFocus
      />
      {wanted ? (
        <Answer of={found}>
          {({ items, partial }) => (
            <>
              {partial && (
                <Note>There is too much to look at all of it. Type more of the name.</Note>
              )}
              <Panel title="Found">
                {items.length === 0 ? (
                  <Empty title={`Nothing is called “${wanted}”`} icon={GitFork} />
                ) : (
                  <ul className={styles.hits} aria-label="Found">
                    {items.map((hit, n) => (
                      <li key={n}>
                        <span>{hit.kind}</span>
                        <Link to={startOf(hit, head)}>
                          {hit.kind === "repo" ? shown(hit.repo) : hit.text}
                        </Link>
                        <span className="dim grow">
                          {hit.detail || (hit.kind === "repo" ? "" : shown(hit.repo))}
                        </span>
                      </li>
                    ))}
                  </ul>
                )}
              </Panel>
            </>
          )}
        </Answer>
      ) : (
        <Answer of={overview}>
          {({ nodes }) => {
            const some = nodes.filter((one) => one.head);
            if (some.length === 0)
              return (
                <Empty
                  title="Nothing has a lineage yet"
                  icon={GitFork}
                  command="trunkline lineage orders@main"
                >
                  It begins with the first commit of a repo.
                </Empty>
              );
            return (
              <Panel title="Or begin with what is newest of">
                <ul className={styles.hits} aria-label="Repos">
                  {some.map(({ name, kind, description }) => (
                    <li key={full(name)}>
                      <span>{kind}</span>
                      <Link to={paths.lineage(ref(name, head(name)))}>{shown(name)}</Link>
                      <span className="dim grow clip">{description}</span>
                    </li>
                  ))}
                </ul>
              </Panel>
            );
          }}
        </Answer>
      )}
    </div>
  );
}
