import { useQuery } from "@tanstack/react-query";
import { Play, Share2, Square } from "lucide-react";
import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { accessQueries } from "~/api/access";
import { repoQueries } from "~/api/repos";
import { type Asked, sqlQueries } from "~/api/sql";
import { useMoment } from "~/features/moment/useMoment";
import { DEFAULT_PROJECT } from "~/lib/names";
import { useParam, useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Code } from "~/ui/code/Code";
import type { EditorControl } from "~/ui/code/Editor";
import { copy } from "~/ui/copy";
import { Select } from "~/ui/Field";
import { MOMENT } from "~/ui/Link";
import { Failure } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import { AsOf } from "./AsOf";
import { sqlExtension } from "./completion";
import { Result } from "./Result";
import styles from "./Sql.module.css";
import { Starters } from "./Starters";
import { link, packed, unpacked } from "./share";
import { TableTree } from "./TableTree";
import { useRun } from "./useRun";

const ENGINES = [
  { value: "duckdb", text: "DuckDB" },
  { value: "spark", text: "Spark" },
];

export default function SqlPage() {
  const [text, setText] = useState("");
  const [params, set] = useQueryState();
  const moment = useMoment();
  const [engine, setEngine] = useParam("engine", "duckdb");
  const [project, setProject] = useParam("project", DEFAULT_PROJECT);
  const [run, start, stop] = useRun();
  const info = useQuery(accessQueries.info());
  const repos = useQuery(repoQueries.list());
  const tables = useQuery(sqlQueries.tables(project, moment));
  const editor = useRef<EditorControl | null>(null);
  const own = useRef<string | null>(null);
  useTextOfUrl(setText, own);
  const extensions = useMemo(() => sqlExtension(tables.data ?? []), [tables.data]);
  const projects = [
    ...new Set([DEFAULT_PROJECT, ...(repos.data ?? []).map((repo) => repo.name.project)]),
  ];
  const asked = (what: string): Asked => ({ text: what, engine, at: moment, project });

  const go = async (what: string) => {
    if (!what.trim() || run.busy) return;
    const written = await packed(text);
    own.current = written.q ?? written.z;
    set(written);
    await start(asked(what));
  };
  const choose = (past: Asked) => {
    setText(past.text);
    set({
      engine: past.engine === "duckdb" ? null : past.engine,
      [MOMENT]: past.at ?? null,
      project: past.project === DEFAULT_PROJECT ? null : (past.project ?? null),
      tab: null,
    });
  };
  const share = async () => {
    const kept = ["chart", "x", "y", "colour", "of", "tab"];
    const more = Object.fromEntries(
      kept.flatMap((name) => (params.has(name) ? [[name, params.get(name)!]] : [])),
    );
    await copy(await link(asked(text), more), "Copied a link to this query.");
  };
  return (
    <Page title="SQL" full>
      <div className={styles.screen}>
        <TableTree tables={tables.data ?? []} onInsert={(name) => editor.current?.insert(name)} />
        <div className={styles.work}>
          <div className="row wrap">
            {run.busy ? (
              <Button kind="danger" icon={Square} onClick={stop}>
                Stop
              </Button>
            ) : (
              <Button
                kind="primary"
                icon={Play}
                onClick={() => void go(text)}
                disabled={!text.trim()}
              >
                Run
              </Button>
            )}
            <Select
              aria-label="Engine"
              options={info.data?.features.includes("spark") ? ENGINES : ENGINES.slice(0, 1)}
              value={engine}
              onChange={(event) => setEngine(event.target.value)}
            />
            <AsOf project={project} />
            {projects.length > 1 && (
              <Select
                aria-label="Project"
                options={projects.map((name) => ({ value: name, text: name }))}
                value={project}
                onChange={(event) => setProject(event.target.value)}
              />
            )}
            <span className="dim">
              Ctrl Enter runs, also what is selected. Esc, then Tab leaves the editor.
            </span>
            <span className="grow" />
            <Button icon={Share2} onClick={() => void share()} disabled={!text.trim()}>
              Share
            </Button>
          </div>
          <div className={styles.editor}>
            <Code
              label="SQL"
              text={text}
              onChange={setText}
              onRun={(what) => void go(what)}
              extensions={extensions}
              height="100%"
              control={editor}
            />
          </div>
          <div>
            {run.error !== null && <Failure error={run.error} />}
            {tables.error !== null && <Failure error={tables.error} />}
          </div>
          {run.query || run.busy ? (
            <Result run={run} onChoose={choose} />
          ) : (
            <Starters
              tables={tables.data ?? []}
              onChoose={(what) => choose(asked(what))}
              onPast={choose}
            />
          )}
        </div>
      </div>
    </Page>
  );
}

/** The text of a link that was opened, also when Back leads to another.
 *
 * What the page itself wrote there (`own`) is no news: one may have gone on typing since.
 */
function useTextOfUrl(setText: (text: string) => void, own: RefObject<string | null>): void {
  const [params] = useSearchParams();
  const q = params.get("q");
  const z = params.get("z");
  useEffect(() => {
    const written = own.current;
    own.current = null;
    if ((q === null && z === null) || (q ?? z) === written) return;
    const given = new URLSearchParams({
      ...(q === null ? {} : { q }),
      ...(z === null ? {} : { z }),
    });
    void unpacked(given).then((text) => text && setText(text));
  }, [q, z, setText, own]);
}
