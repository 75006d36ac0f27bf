import { useInfiniteQuery } from "@tanstack/react-query";
import { GitCompare } from "lucide-react";
import { useMemo } from "react";
import { type TableVersion, tableQueries } from "~/api/tables";
import { bytes, count, shortId } from "~/lib/format";
import { paths } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button, ButtonLink } from "~/ui/Button";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { moreOf } from "~/ui/More";
import { Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { HistoryChart } from "./HistoryChart";
import { isId, type Place } from "./place";
import styles from "./Table.module.css";

function compareLink({ name }: Place, [a = "", b = ""]: string[]): string {
  // IDs begin with their time, so the smaller is the older.
  const [old, now] = [a, b].sort() as [string, string];
  return `${paths.repo(name)}?${new URLSearchParams({ tab: "compare", view: "tables", old, new: now })}`;
}

/** How rows and size of a table grew, with its versions to look at and to compare. */
export function HistoryTab({ place, at, commit }: { place: Place; at: string; commit?: string }) {
  const [params, set] = useQueryState();
  // A version that was clicked on leaves the list as it was.
  const tip = params.get("tip") ?? at;
  const history = useInfiniteQuery(tableQueries.history(place.name, tip, place.path));
  const versions = useMemo(
    () => history.data?.pages.flatMap((one) => one.items) ?? [],
    [history.data],
  );
  const marked = (params.get("compare") ?? "").split(",").filter(Boolean);
  const mark = (id: string) => {
    const next = marked.includes(id)
      ? marked.filter((one) => one !== id)
      : [...marked, id].slice(-2);
    set({ compare: next.join(",") });
  };
  const columns: Column<TableVersion>[] = [
    {
      id: "pick",
      title: "",
      cell: (v) => (
        <input
          type="checkbox"
          aria-label={`Compare ${shortId(v.commit)}`}
          checked={marked.includes(v.commit)}
          onChange={() => mark(v.commit)}
        />
      ),
    },
    {
      id: "commit",
      title: "Version",
      cell: (v) => (
        <button
          type="button"
          className={`${styles.name} mono`}
          style={{ whiteSpace: "nowrap" }}
          aria-current={v.commit === commit ? "true" : undefined}
          title="Look at the table as of this version"
          onClick={() => set({ at: v.commit, tip: isId(tip) ? null : tip }, { push: true })}
        >
          {shortId(v.commit)}
        </button>
      ),
    },
    { id: "at", title: "When", cell: (v) => <Time at={v.at} /> },
    {
      id: "rows",
      title: "Rows",
      cell: (v) => (typeof v.rows === "number" ? count(v.rows) : "–"),
      right: true,
    },
    {
      id: "delta",
      title: "Change",
      cell: (v) => <Delta of={v} versions={versions} />,
      right: true,
    },
    { id: "size", title: "Size", cell: (v) => bytes(v.size), right: true },
    { id: "files", title: "Files", cell: (v) => count(v.files), right: true },
    {
      id: "message",
      title: "What",
      cell: (v) => (
        <>
          {v.message}
          {v.changes.map((one) => (
            <span key={one} className={`mono ${styles.change}`} style={{ color: "var(--stream)" }}>
              {one}
            </span>
          ))}
          {v.error && (
            <span className={styles.change} style={{ color: "var(--bad)" }}>
              {v.error}
            </span>
          )}
        </>
      ),
      wide: true,
    },
    { id: "author", title: "By", cell: (v) => v.author },
  ];
  return (
    <Answer of={history}>
      {() => (
        <div className="stack">
          <div className={styles.charts}>
            <Panel title="Rows" padded>
              <HistoryChart versions={versions} figure="rows" />
            </Panel>
            <Panel title="Size" padded>
              <HistoryChart versions={versions} figure="size" />
            </Panel>
          </div>
          <Panel
            title="Versions"
            actions={
              marked.length === 2 ? (
                <ButtonLink small icon={GitCompare} to={compareLink(place, marked)}>
                  Compare the two
                </ButtonLink>
              ) : (
                <Button small icon={GitCompare} disabled>
                  Choose two to compare
                </Button>
              )
            }
          >
            <List
              label="Versions"
              items={versions}
              columns={columns}
              keyOf={(one) => one.commit}
              chosen={commit}
              empty={<Empty title="No version yet" />}
              more={moreOf(history)}
            />
          </Panel>
        </div>
      )}
    </Answer>
  );
}

/** Rows more or less than in the version before. */
function Delta({ of, versions }: { of: TableVersion; versions: TableVersion[] }) {
  const before = versions[versions.indexOf(of) + 1];
  if (typeof of.rows !== "number" || typeof before?.rows !== "number") return null;
  const more = of.rows - before.rows;
  if (more === 0) return <span className="dim">±0</span>;
  const tone = more > 0 ? "good" : "bad";
  return (
    <span style={{ color: `var(--${tone})` }}>
      {more > 0 ? "+" : "−"}
      {count(Math.abs(more))}
    </span>
  );
}
