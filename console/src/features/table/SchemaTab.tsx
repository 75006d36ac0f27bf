import type { ColumnProfile } from "~/api/tables";
import type { Schema } from "~/api/types";
import { count } from "~/lib/format";
import { useParam, useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { SearchBox } from "~/ui/Field";
import { type Column, List } from "~/ui/List";
import { Empty, Failure } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { NullBar } from "./Bars";
import { ColumnPanel } from "./ColumnPanel";
import styles from "./Table.module.css";
import { useProfile } from "./useProfile";
import type { Shown } from "./useTable";
import { share } from "./values";

interface Row extends Schema<"Column"> {
  place: number;
  profile?: ColumnProfile;
}

export function SchemaTab({ shown }: { shown: Shown }) {
  const { profile, waits, ask } = useProfile(shown);
  const [text, setText] = useParam("q");
  const [params, set] = useQueryState();
  const open = params.get("column");
  const { info } = shown;
  const profiles = new Map(profile.data?.columns.map((one) => [one.name, one]));
  const rows = info.columns.map((one, n) => ({
    ...one,
    place: n + 1,
    profile: profiles.get(one.name),
  }));
  const columns: Column<Row>[] = [
    { id: "place", title: "#", cell: (c) => c.place, sort: (c) => c.place, right: true },
    {
      id: "name",
      title: "Column",
      cell: (c) => (
        <>
          <button
            type="button"
            className={styles.name}
            onClick={() => set({ column: c.name }, { push: true })}
          >
            {c.name}
          </button>
          {info.key.includes(c.name) && <span className={styles.mark}>key</span>}
          {info.partition_by.includes(c.name) && <span className={styles.mark}>partition</span>}
        </>
      ),
      sort: (c) => c.name,
      wide: true,
    },
    {
      id: "type",
      title: "Type",
      cell: (c) => <span className="mono">{c.type}</span>,
      sort: (c) => c.type,
    },
    { id: "nullable", title: "Nullable", cell: (c) => (c.nullable ? "yes" : "no") },
    {
      id: "nulls",
      title: "Nulls",
      cell: ({ profile: p }) =>
        p ? (
          <span className={styles.nullShare}>
            <NullBar nulls={p.nulls} rows={p.rows} />
            {share(p.nulls, p.rows)}
          </span>
        ) : (
          "–"
        ),
      sort: ({ profile: p }) => (p?.rows ? p.nulls / p.rows : 0),
      right: true,
    },
    {
      id: "distinct",
      title: "Distinct",
      cell: ({ profile: p }) =>
        p ? `${p.distinct_exact ? "" : "≈ "}${count(p.distinct)}` : profile.isFetching ? "…" : "–",
      sort: ({ profile: p }) => p?.distinct ?? 0,
      right: true,
    },
  ];
  return (
    <div className="stack">
      <div className="row wrap">
        <div style={{ width: 320, maxWidth: "100%" }}>
          <SearchBox label="Filter columns" value={text} onChange={setText} />
        </div>
        {waits && <Button onClick={ask}>Count nulls and distinct values</Button>}
      </div>
      {profile.error && <Failure error={profile.error} retry={() => void profile.refetch()} />}
      <div className={styles.beside}>
        <Panel>
          <List
            label="Columns"
            items={rows.filter((one) => one.name.toLowerCase().includes(text.toLowerCase()))}
            columns={columns}
            keyOf={(one) => one.name}
            chosen={open ?? undefined}
            empty={<Empty title="No column matches" />}
          />
        </Panel>
        {open !== null && (
          <ColumnPanel shown={shown} column={open} onClose={() => set({ column: null })} />
        )}
      </div>
    </div>
  );
}
