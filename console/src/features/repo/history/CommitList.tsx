import { useVirtualizer } from "@tanstack/react-virtual";
import { GitBranch, Tag } from "lucide-react";
import { type KeyboardEvent, useMemo, useRef } from "react";
import type { Commit, RepoName } from "~/api/types";
import { bytes, shortId } from "~/lib/format";
import { useQueryState } from "~/lib/url";
import { Link } from "~/ui/Link";
import { Loading } from "~/ui/Messages";
import { type More, MoreFailed, useMoreNear } from "~/ui/More";
import { Time } from "~/ui/Time";
import { within } from "../where";
import { Graph, graphWidth, ROW } from "./Graph";
import styles from "./History.module.css";
import type { Label } from "./labels";
import { lanes, type Row, widest } from "./lanes";

interface Props {
  repo: RepoName;
  commits: Commit[];
  labels: Map<string, Label[]>;
  /** Without lines: these commits need not follow each other. */
  plain?: boolean;
  more?: More;
  busy: boolean;
}

const NEAR = 20;
const DOT: Row = { lane: 0, above: [], below: [] };

/** How much larger a commit is than the one before it, if that is known. */
function delta(commit: Commit, sizes: Map<string, number>): string {
  const before = commit.parent ? sizes.get(commit.parent) : 0;
  if (before === undefined) return "";
  const grown = commit.size - before;
  return `${grown > 0 ? "+" : grown < 0 ? "−" : "±"}${bytes(Math.abs(grown))}`;
}

export function CommitList({ repo, commits, labels, plain, more, busy }: Props) {
  const box = useRef<HTMLElement>(null);
  const rows = useMemo(() => (plain ? commits.map(() => DOT) : lanes(commits)), [commits, plain]);
  const width = useMemo(() => graphWidth(widest(rows)), [rows]);
  const sizes = useMemo(() => new Map(commits.map((one) => [one.id, one.size])), [commits]);
  const lines = useVirtualizer({
    count: commits.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const seen = lines.getVirtualItems();
  const last = seen.at(-1)?.index ?? 0;
  useMoreNear(more, last, commits.length, NEAR);
  const walk = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const from = (event.target as HTMLElement).getAttribute("data-row");
    if (!step || from === null) return;
    event.preventDefault();
    box.current?.querySelector<HTMLElement>(`[data-row="${Number(from) + step}"]`)?.focus();
  };
  return (
    <section ref={box} className={styles.rows} aria-label="Commits" onKeyDown={walk}>
      <div style={{ height: lines.getTotalSize(), position: "relative" }}>
        {seen.map((line) => {
          const commit = commits[line.index]!;
          return (
            <CommitRow
              key={commit.id}
              repo={repo}
              commit={commit}
              labels={labels.get(commit.id) ?? []}
              grown={delta(commit, sizes)}
              row={rows[line.index]!}
              width={width}
              n={line.index}
              top={line.start}
            />
          );
        })}
      </div>
      {busy && commits.length === 0 && <Loading />}
      <MoreFailed more={more} />
    </section>
  );
}

interface RowProps {
  repo: RepoName;
  commit: Commit;
  labels: Label[];
  grown: string;
  row: Row;
  width: number;
  n: number;
  top: number;
}

function CommitRow({ repo, commit, labels, grown, row, width, n, top }: RowProps) {
  const [params] = useQueryState();
  const chosen = params.get("commit") === commit.id;
  const query = Object.fromEntries(params);
  return (
    <Link
      to={within(repo, { ...query, commit: chosen ? null : commit.id })}
      className={styles.row}
      style={{ transform: `translateY(${top}px)` }}
      data-row={n}
      aria-current={chosen || undefined}
    >
      <Graph row={row} width={width} merge={commit.merged.length > 0} />
      <span className={styles.what}>
        <span className={styles.message}>
          {labels.map(({ kind, name }) => (
            <span
              key={`${kind} ${name}`}
              className={`${styles.label} ${styles[kind]}`}
              title={name}
            >
              {kind === "branch" ? (
                <GitBranch size={11} aria-hidden />
              ) : (
                <Tag size={11} aria-hidden />
              )}
              {name}
            </span>
          ))}
          <span className="clip">{commit.message || <span className="dim">no message</span>}</span>
          {commit.origin !== "user" && (
            <span className={`${styles.label} ${styles.origin}`}>{commit.origin}</span>
          )}
        </span>
        <span className={`clip ${styles.by}`} style={{ display: "block" }}>
          <code>{shortId(commit.id)}</code> {commit.author}
          {commit.error && ` · failed: ${commit.error}`}
        </span>
      </span>
      <span className={`num ${styles.right} ${styles.delta}`}>{grown}</span>
      <span className={`${styles.right} ${styles.when}`}>
        <Time at={commit.finished ?? commit.started} />
      </span>
    </Link>
  );
}
