import { useQuery } from "@tanstack/react-query";
import { GitCompare } from "lucide-react";
import type { RowSample } from "~/api/compare";
import {
  type CodeDelta,
  type EnvironmentStatus,
  environmentQueries,
  type Place,
  type RepoDelta,
  type TableDelta,
} from "~/api/environments";
import { cellsOf } from "~/features/compare/rows";
import { within } from "~/features/repo/where";
import { plural } from "~/lib/format";
import { full, shown } from "~/lib/names";
import { ButtonLink } from "~/ui/Button";
import { DataGrid, heightFor } from "~/ui/DataGrid";
import { Answer, Empty, Note } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import styles from "./Environments.module.css";
import { Word } from "./StatusTab";
import { codeWords, filesWords, markOf, rowsWords } from "./words";

/** What a reviewer wants to read: code line by line, then files, schemas and rows of each repo. */
export function DiffTab({ place, status }: { place: Place; status: EnvironmentStatus }) {
  const diff = useQuery(environmentQueries.diff(place, status));
  const { base } = status.environment;
  return (
    <div className="stack" aria-busy={diff.isFetching}>
      <Answer of={diff}>
        {({ code, repos }) =>
          code.length + repos.length === 0 ? (
            <Empty title="Nothing differs" icon={GitCompare}>
              Code and data are as in {base}.
            </Empty>
          ) : (
            <>
              {code.map((one) => (
                <CodePanel key={full(one.name)} code={one} base={base} />
              ))}
              {repos.map((one) => (
                <RepoPanel key={`${full(one.repo)}@${one.branch}`} repo={one} />
              ))}
            </>
          )
        }
      </Answer>
    </div>
  );
}

function CodePanel({ code, base }: { code: CodeDelta; base: string }) {
  return (
    <Panel
      title={`Pipeline ${shown(code.name)}`}
      actions={<Word state={code.state}>{codeWords(code.state, base)}</Word>}
    >
      {code.text ? (
        <pre
          className={styles.diff}
          role="region"
          aria-label={`Code of ${shown(code.name)} that differs`}
          tabIndex={0}
        >
          <code>
            {code.text
              .trimEnd()
              .split("\n")
              .map((line, number) => (
                <span key={number} className={`${styles.line} ${styles[markOf(line)] ?? ""}`}>
                  {line || " "}
                </span>
              ))}
          </code>
        </pre>
      ) : (
        <div className={styles.repo}>It reads what you may not read, so its code is not shown.</div>
      )}
    </Panel>
  );
}

function RepoPanel({ repo }: { repo: RepoDelta }) {
  const hidden = repo.added + repo.removed + repo.modified - repo.paths.length;
  // What a pipeline wrote has names that nobody chose: its rows tell more.
  const paths = repo.kind === "output" && repo.tables.length > 0 ? [] : repo.paths;
  return (
    <Panel
      title={`${shown(repo.repo)}@${repo.branch}`}
      actions={
        <ButtonLink
          small
          icon={GitCompare}
          to={within(repo.repo, { tab: "compare", old: repo.base, new: repo.branch })}
        >
          Compare
        </ButtonLink>
      }
    >
      <div className={styles.repo}>
        {repo.state !== "ahead" && <Note>{repo.base} has newer commits: a sync brings them.</Note>}
        <p>{filesWords(repo)}</p>
        {paths.length > 0 && (
          <ul
            className={styles.paths}
            aria-label={`Files of ${shown(repo.repo)} that differ`}
            tabIndex={0}
          >
            {paths.map((path) => (
              <li key={path}>{path}</li>
            ))}
            {hidden > 0 && <li className="dim">and {plural(hidden, "more file")}</li>}
          </ul>
        )}
        {repo.tables.map((table) => (
          <TableRows key={table.path} table={table} of={shown(repo.repo)} />
        ))}
      </div>
    </Panel>
  );
}

function TableRows({ table, of }: { table: TableDelta; of: string }) {
  const samples = table.samples as unknown as RowSample[];
  const names = new Set(samples.flatMap((one) => Object.keys(one.new ?? one.old ?? {})));
  const columns = Object.fromEntries([...names].map((name) => [name, 0]));
  const cells = cellsOf({ key: table.key, columns, samples });
  const total = table.added + table.removed + table.changed;
  return (
    <section>
      <h3>Table {table.path}</h3>
      {table.error ? (
        <Note>{table.error}</Note>
      ) : (
        <>
          <p>{rowsWords(table)}</p>
          {table.columns.length > 0 && (
            <ul className={styles.columns} aria-label={`Columns of ${of} that differ`}>
              {table.columns.map((column) => (
                <li key={column}>{column}</li>
              ))}
            </ul>
          )}
          {samples.length > 0 && (
            <div style={{ height: heightFor(samples.length, 360) }}>
              <DataGrid
                label={`Rows of ${of}:${table.path} that differ`}
                columns={cells.columns}
                types={cells.columns.map(() => "")}
                count={cells.rows.length}
                row={(index) => cells.rows[index]}
                mark={cells.mark}
              />
            </div>
          )}
          {samples.length > 0 && samples.length < total && (
            <p className="dim">The first {plural(samples.length, "row")} that differ.</p>
          )}
        </>
      )}
    </section>
  );
}
