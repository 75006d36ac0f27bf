import { useParam, useQueryState } from "~/lib/url";
import { SearchBox } from "~/ui/Field";
import { Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { ColumnLineage } from "./ColumnLineage";
import styles from "./LineageTab.module.css";
import type { Shown } from "./useTable";

export function LineageTab({ shown }: { shown: Shown }) {
  const [params, set] = useQueryState();
  const [text, setText] = useParam("q");
  const columns = shown.info.columns;
  const asked = params.get("column");
  const column = columns.some((one) => one.name === asked) ? asked : columns[0]?.name;
  return (
    <div className={styles.parts}>
      <Panel>
        <div className={styles.search}>
          <SearchBox label="Filter columns" value={text} onChange={setText} />
        </div>
        <ul className={styles.columns}>
          {columns
            .filter((one) => one.name.toLowerCase().includes(text.toLowerCase()))
            .map(({ name, type }) => (
              <li key={name}>
                <button
                  type="button"
                  aria-pressed={name === column}
                  onClick={() => set({ column: name }, { push: true })}
                >
                  <span className="clip grow">{name}</span>
                  <span className="mono dim clip">{type}</span>
                </button>
              </li>
            ))}
        </ul>
      </Panel>
      <Panel title={column ? `Lineage of ${column}` : "Lineage"} padded>
        {column ? (
          <ColumnLineage key={column} shown={shown} column={column} />
        ) : (
          <Empty title="No columns" />
        )}
      </Panel>
    </div>
  );
}
