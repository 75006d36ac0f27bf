import { X } from "lucide-react";
import { Button } from "~/ui/Button";
import { Answer, Empty } from "~/ui/Messages";
import { ColumnLineage } from "./ColumnLineage";
import { ProfileFigures } from "./ProfileCard";
import styles from "./Table.module.css";
import { AskForProfile, useProfile } from "./useProfile";
import type { Shown } from "./useTable";

/** One column: what it holds, what it was made from and what is made from it. */
export function ColumnPanel({
  shown,
  column,
  onClose,
}: {
  shown: Shown;
  column: string;
  onClose: () => void;
}) {
  const known = shown.info.columns.find((one) => one.name === column);
  return (
    <aside className={styles.side} aria-label={`Column ${column}`}>
      <div className={styles.sideHead}>
        <div className="grow">
          <h2>{column}</h2>
          {known && <span className="mono dim">{known.type}</span>}
        </div>
        <Button small kind="ghost" icon={X} label="Close" onClick={onClose} />
      </div>
      {known ? (
        <Details shown={shown} column={column} />
      ) : (
        <Empty title="No such column">This version of the table does not have it.</Empty>
      )}
    </aside>
  );
}

function Details({ shown, column }: { shown: Shown; column: string }) {
  const { profile, waits, ask } = useProfile(shown, column);
  return (
    <>
      {waits ? (
        <AskForProfile rows={shown.info.rows} ask={ask} />
      ) : (
        <Answer of={profile}>
          {({ columns: [one] }) => one && <ProfileFigures column={one} />}
        </Answer>
      )}
      <h3>Lineage</h3>
      <ColumnLineage shown={shown} column={column} narrow />
    </>
  );
}
