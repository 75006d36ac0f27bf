import { Copy, Download, TableProperties } from "lucide-react";
import { useState } from "react";
import { type Asked, exported } from "~/api/sql";
import { between, bytes, plural, seconds, shortId } from "~/lib/format";
import { paths, shown } from "~/lib/names";
import { save } from "~/lib/save";
import { Button } from "~/ui/Button";
import { copy } from "~/ui/copy";
import { cellText } from "~/ui/DataGrid";
import { Link } from "~/ui/Link";
import { Menu } from "~/ui/Menu";
import { Empty, Loading } from "~/ui/Messages";
import { State } from "~/ui/State";
import { Tabs } from "~/ui/Tabs";
import { Lasting } from "~/ui/Time";
import { attempt } from "~/ui/toast";
import { ChartTab } from "./ChartTab";
import { IntoDialog } from "./IntoDialog";
import { Past } from "./Past";
import type { Pages } from "./pages";
import { Rows, usePages } from "./Rows";
import styles from "./Sql.module.css";
import type { Run } from "./useRun";

const COPIED = 10_000;

/** What became of a query: its rows, a picture of them, what was read. */
export function Result({ run, onChoose }: { run: Run; onChoose: (asked: Asked) => void }) {
  const query = run.query;
  const pages = usePages(query?.columns ? query.id : undefined);
  const [writing, setWriting] = useState(false);
  const columns = query?.columns ?? [];
  const types = query?.types ?? [];
  const some = pages !== null && columns.length > 0;
  const waiting = run.busy ? <Loading what="The query runs" /> : <Empty title="No rows" />;
  return (
    <section className={styles.result} aria-label="Result">
      <div className="row wrap">
        <Summary run={run} />
        <span className="grow" />
        {query?.state === "done" && pages && (
          <>
            <Exports run={run} pages={pages} />
            <Button small icon={TableProperties} onClick={() => setWriting(true)}>
              Write as a table
            </Button>
          </>
        )}
      </div>
      <Tabs
        full
        label="Result"
        tabs={[
          {
            id: "rows",
            title: "Rows",
            body: () =>
              some ? (
                <Rows pages={pages} columns={columns} types={types} count={query?.rows ?? 0} />
              ) : (
                waiting
              ),
          },
          {
            id: "chart",
            title: "Chart",
            body: () =>
              some && query?.state === "done" ? (
                <ChartTab pages={pages} columns={columns} types={types} rows={query.rows} />
              ) : (
                waiting
              ),
          },
          { id: "sources", title: "What was read", body: () => <Sources run={run} /> },
          { id: "past", title: "History", body: () => <Past onChoose={onChoose} /> },
        ]}
      />
      {query && writing && <IntoDialog query={query} onClose={() => setWriting(false)} />}
    </section>
  );
}

function Summary({ run }: { run: Run }) {
  const { query, busy } = run;
  if (!query) return <State state="queued" />;
  const started = query.started ?? query.created;
  return (
    <div className="row" role="status">
      <State state={query.state} />
      {plural(query.rows, "row")}
      <span className="dim">
        {busy ? <Lasting from={started} /> : query.ended && seconds(between(started, query.ended))}
        {query.bytes > 0 && ` · ${bytes(query.bytes)}`}
      </span>
    </div>
  );
}

function Exports({ run, pages }: { run: Run; pages: Pages }) {
  const asked = run.asked;
  const query = run.query;
  if (!asked || !query) return null;
  const fetchAll = async (kind: "text/csv" | "application/json", name: string) =>
    save(await exported(asked, kind), name);
  const copyRows = async () => {
    const rows = pages.first(COPIED);
    const lines = [query.columns ?? [], ...rows].map((row) =>
      row.map((one) => cellText(one).replaceAll(/[\t\n]/g, " ")).join("\t"),
    );
    await copy(
      lines.join("\n"),
      `Copied ${plural(rows.length, "row")}${rows.length < query.rows ? ", those that were fetched" : ""}.`,
    );
  };
  return (
    <Menu
      items={[
        { text: "CSV", act: () => void attempt(fetchAll("text/csv", "result.csv")) },
        { text: "JSON", act: () => void attempt(fetchAll("application/json", "result.json")) },
        null,
        { text: "Copy for a spreadsheet", icon: Copy, act: () => void copyRows() },
      ]}
    >
      <Button small icon={Download}>
        Export
      </Button>
    </Menu>
  );
}

/** The commits that were read: a result knows its data. */
function Sources({ run }: { run: Run }) {
  const sources = run.query?.sources ?? [];
  if (sources.length === 0) return <Empty title="It read no table" />;
  return (
    <ul>
      {sources.map((source) => (
        <li key={source.view}>
          <code>{source.view}</code> is{" "}
          <Link
            to={`${paths.table(source.repo)}?${new URLSearchParams({ at: source.commit.id, path: source.path || "/" })}`}
          >
            {shown(source.repo)}@{shortId(source.commit.id)}
            {source.path && source.path !== "/" ? `:${source.path}` : ""}
          </Link>
          {source.commit.message && <span className="dim"> {source.commit.message}</span>}
          {source.note && <span className="dim"> {source.note}</span>}
        </li>
      ))}
    </ul>
  );
}
