import { useQueryState } from "~/lib/url";
import { Panel } from "~/ui/Page";
import { ColumnPanel } from "./ColumnPanel";
import { titleOf } from "./place";
import { RowsGrid } from "./RowsGrid";
import styles from "./Table.module.css";
import type { Shown } from "./useTable";

export function RowsTab({ shown }: { shown: Shown }) {
  const [params, set] = useQueryState();
  const column = params.get("column");
  return (
    <div className={styles.beside}>
      <Panel>
        <RowsGrid
          place={shown.place}
          commit={shown.commit}
          label={`Rows of ${titleOf(shown.place)}`}
          height="max(320px, calc(100vh - 300px))"
          onColumn={(name) => set({ column: name }, { push: true })}
        />
      </Panel>
      {column !== null && (
        <ColumnPanel shown={shown} column={column} onClose={() => set({ column: null })} />
      )}
    </div>
  );
}
