import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { compareQueries, type Pair, type RowDiff } from "~/api/compare";
import { count, plural } from "~/lib/format";
import { shown } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { DataGrid, heightFor } from "~/ui/DataGrid";
import { Check } from "~/ui/Field";
import { Answer, Empty, Note } from "~/ui/Messages";
import { Stat } from "~/ui/Page";
import styles from "./Compare.module.css";
import { KeyPicker } from "./KeyPicker";
import { cellsOf, schemaWords } from "./rows";

const FEW = 200;
const MANY = 1000;

function namesIn(text: string | null): string[] | undefined {
  try {
    const found: unknown = JSON.parse(text ?? "null");
    return Array.isArray(found) ? found.map(String) : undefined;
  } catch {
    return undefined;
  }
}

/** The rows of a table, or of a file with rows, that differ between two commits. */
export function RowsDiff({
  pair,
  path,
  types,
}: {
  pair: Pair;
  path: string;
  types?: Record<string, string>;
}) {
  const [params, set] = useQueryState();
  const [samples, setSamples] = useState(FEW);
  const asked = params.get("key");
  const by = useMemo(() => namesIn(asked), [asked]);
  const oneSided = params.has("onesided");
  const found = useQuery(compareQueries.rows(pair, path, { by, oneSided, samples }));
  const choose = (key: string[]) => set({ key: JSON.stringify(key) });
  return (
    <div className={styles.rows} aria-busy={found.isFetching}>
      <div className="row wrap">
        {(found.data || by) && (
          <KeyPicker
            key={asked === null ? String(found.data?.key) : ""}
            columns={found.data ? Object.keys(found.data.columns) : (by ?? [])}
            chosen={by ?? found.data?.key ?? []}
            onChange={choose}
          />
        )}
        <Check
          label="Also columns that one side lacks"
          checked={oneSided}
          onChange={(now) => set({ onesided: now ? "1" : null })}
        />
      </div>
      <Answer of={found.error ? { ...found, data: undefined } : found}>
        {(diff) => (
          <>
            <Told diff={diff} />
            <Changed
              pair={pair}
              path={path}
              diff={diff}
              types={types}
              more={samples < MANY ? () => setSamples(MANY) : undefined}
            />
          </>
        )}
      </Answer>
    </div>
  );
}

/** What differs, in numbers and words. */
function Told({ diff }: { diff: RowDiff }) {
  const { added, removed, changed, unchanged, key, columns, schema, duplicate_keys } = diff;
  const changes = Object.entries(columns).filter(([, n]) => n > 0);
  const twice = Math.max(duplicate_keys.old, duplicate_keys.new);
  return (
    <>
      <div className={styles.stats}>
        <Stat value={count(added)} name="rows added" />
        <Stat value={count(removed)} name="rows removed" />
        {key.length > 0 && <Stat value={count(changed)} name="rows changed" />}
        {unchanged !== null && <Stat value={count(unchanged)} name="rows unchanged" />}
      </div>
      {schema.length > 0 && (
        <ul className={styles.words} aria-label="Columns that differ">
          {schemaWords(schema).map((words) => (
            <li key={words}>{words}</li>
          ))}
        </ul>
      )}
      {changes.length > 0 && (
        <p>
          Changed in{" "}
          {changes.map(([name, n], index) => (
            <span key={name}>
              {index > 0 && ", "}
              <b>{name}</b> {plural(n, "row")}
            </span>
          ))}
          .
        </p>
      )}
      {key.length === 0 && added + removed > 0 && (
        <p className="dim">
          Whole rows are compared. Choose a key above to see which rows changed, and where.
        </p>
      )}
      {twice > 0 && (
        <Note>
          {plural(twice, "key")} {twice === 1 ? "has" : "have"} several rows: choose more columns to
          tell them apart.
        </Note>
      )}
    </>
  );
}

function Changed(props: {
  pair: Pair;
  path: string;
  diff: RowDiff;
  types?: Record<string, string>;
  more?: () => void;
}) {
  const { pair, path, diff, types, more } = props;
  const cells = useMemo(() => cellsOf(diff), [diff]);
  const kinds = useMemo(() => cells.columns.map((name) => types?.[name] ?? ""), [cells, types]);
  const total = diff.added + diff.removed + diff.changed;
  if (total === 0)
    return (
      <Empty title={diff.schema.length > 0 ? "No row differs" : "Nothing differs"}>
        {diff.schema.length > 0
          ? "In the columns that both have, all rows are the same."
          : "Both have the same columns and the same rows."}
      </Empty>
    );
  const left = total - diff.samples.length;
  return (
    <>
      <div style={{ height: heightFor(diff.samples.length, 520) }}>
        <DataGrid
          label={`Rows of ${path} that differ`}
          columns={cells.columns}
          types={kinds}
          count={cells.rows.length}
          row={(index) => cells.rows[index]}
          mark={cells.mark}
        />
      </div>
      {left > 0 && (
        <p className="row wrap dim">
          The first {count(diff.samples.length)} of {count(total)}.
          {more ? (
            <Button small onClick={more}>
              Show more
            </Button>
          ) : (
            <code>
              trunkline table diff {shown(pair.repo)}@{pair.old}:{path} {shown(pair.repo)}@
              {pair.new}:{path} -n 1000000
            </code>
          )}
        </p>
      )}
    </>
  );
}
