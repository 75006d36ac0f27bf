import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { commitQueries } from "~/api/commits";
import { type LineageNode, lineageQueries } from "~/api/lineage";
import { repoQueries } from "~/api/repos";
import type { Commit, RepoName } from "~/api/types";
import { briefly, plural, shortId } from "~/lib/format";
import { paths, ref } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Select } from "~/ui/Field";
import { Link } from "~/ui/Link";
import { Answer } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import styles from "./Lineage.module.css";
import { changedInputs, type InputChange } from "./places";

/** A thing in a repo at a commit. */
export interface Root {
  repo: RepoName;
  commit: string;
  path: string | null;
}

const AGAINST = "against";

/** The commits of the root's branch that changed it, newest first, and the one looked at. */
function useVersions({ repo, commit, path }: Root): Commit[] {
  const here = useQuery(commitQueries.one(repo, commit));
  const branches = useQuery(repoQueries.branches(repo));
  const branch = here.data?.branch ?? "";
  const at = branches.data?.some((one) => one.name === branch) ? branch : commit;
  const log = useInfiniteQuery({
    ...commitQueries.log(repo, at, path === "/" ? "" : (path ?? "")),
    enabled: here.data !== undefined && branches.data !== undefined,
  });
  const items = log.data?.pages.flatMap((page) => page.items) ?? [];
  if (!here.data || items.some((one) => one.id === commit)) return items;
  const after = items.filter((one) => one.started > (here.data?.started ?? ""));
  return [...after, here.data, ...items.slice(after.length)];
}

const textOf = ({ id, message, started, finished }: Commit): string =>
  `${shortId(id)} ${briefly(finished ?? started)} ${message}`;

/** Walks across the versions of what is looked at. */
export function VersionPicker({ root, column }: { root: Root; column: string }) {
  const [, set] = useQueryState();
  const versions = useVersions(root);
  const now = versions.findIndex((one) => one.id === root.commit);
  const [newer, older] = [versions[now - 1], versions[now + 1]];
  const go = (commit: string) =>
    set({ ref: ref(root.repo, commit, root.path), column: column || null }, { push: true });
  if (now < 0) return null;
  return (
    <div className="row">
      <Button
        icon={ChevronLeft}
        label="Older version"
        disabled={!older}
        onClick={() => older && go(older.id)}
      />
      <div className={styles.version}>
        <Select
          aria-label="Version"
          value={root.commit}
          onChange={(event) => go(event.target.value)}
          options={versions.map((one) => ({ value: one.id, text: textOf(one) }))}
        />
      </div>
      <Button
        icon={ChevronRight}
        label="Newer version"
        disabled={!newer}
        onClick={() => newer && go(newer.id)}
      />
    </div>
  );
}

/** Which inputs another version was made from. */
export function Against({ root, limit }: { root: Root; limit: number }) {
  const [params, set] = useQueryState();
  const versions = useVersions(root).filter((one) => one.id !== root.commit);
  const other = params.get(AGAINST) ?? "";
  if (versions.length === 0) return null;
  return (
    <Panel title="Compared with another version" padded>
      <div className="stack" style={{ gap: "var(--s2)" }}>
        <Select
          aria-label="Compare with the version"
          value={other}
          onChange={(event) => set({ [AGAINST]: event.target.value || null }, { push: true })}
          options={[
            { value: "", text: "None" },
            ...versions.map((one) => ({ value: one.id, text: textOf(one) })),
          ]}
        />
        {other && other !== root.commit && <Inputs root={root} other={other} limit={limit} />}
      </div>
    </Panel>
  );
}

function Inputs({ root, other, limit }: { root: Root; other: string; limit: number }) {
  const now = useQuery(lineageQueries.of(ref(root.repo, root.commit, root.path), limit));
  const then = useQuery(lineageQueries.of(ref(root.repo, other, root.path), limit));
  const both = now.data && then.data ? changedInputs(then.data, now.data) : undefined;
  return (
    <Answer of={{ data: both, error: then.error ?? now.error, isPending: !both }}>
      {({ changed, same }) => (
        <>
          <p role="status">
            {changed.length === 0
              ? "Both were made from the same inputs."
              : `${plural(changed.length, "input")} differ${changed.length === 1 ? "s" : ""}, ${same} the same.`}
          </p>
          {changed.length > 0 && (
            <table className={styles.changed}>
              <thead>
                <tr>
                  <th scope="col">Input</th>
                  <th scope="col">{shortId(other)}</th>
                  <th scope="col">This one</th>
                </tr>
              </thead>
              <tbody>
                {changed.map((one) => (
                  <Input key={one.id} change={one} />
                ))}
              </tbody>
            </table>
          )}
        </>
      )}
    </Answer>
  );
}

const versionOf = (nodes: LineageNode[]): string =>
  nodes
    .map((one) => (one.kind === "code" ? `v${one.version}` : shortId(one.commit ?? "")))
    .join(", ") || "–";

function Input({ change: { what, node, old, new: now } }: { change: InputChange }) {
  const [before, after] = [old[0]?.commit, now[0]?.commit];
  const compare =
    node.repo && before && after
      ? `${paths.repo(node.repo)}?${new URLSearchParams({ tab: "compare", old: before, new: after })}`
      : "";
  return (
    <tr>
      <td>{compare ? <Link to={compare}>{what}</Link> : what}</td>
      <td>
        <code>{versionOf(old)}</code>
      </td>
      <td>
        <code>{versionOf(now)}</code>
      </td>
    </tr>
  );
}
