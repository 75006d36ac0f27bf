import { CircleCheck } from "lucide-react";
import type { ReactNode } from "react";
import { Panel } from "~/ui/Page";
import styles from "./Home.module.css";

const MOST = 8;

/** A panel of a few things; how many there are stands in its head. */
export function Shelf<Item>({
  title,
  items,
  most = MOST,
  uncounted,
  bad,
  calm,
  more,
  children,
}: {
  title: string;
  items: Item[];
  most?: number;
  /** Only the first are given, so their number says nothing. */
  uncounted?: boolean;
  bad?: boolean;
  /** What is said when there is none. */
  calm: string;
  /** Leads to all of them. */
  more?: ReactNode;
  children: (item: Item) => ReactNode;
}) {
  return (
    <Panel
      title={
        <span className="row">
          {title}
          {items.length > 0 && !uncounted && (
            <span className={`${styles.tally} ${bad ? styles.bad : ""}`}>{items.length}</span>
          )}
        </span>
      }
      actions={(items.length > 0 || uncounted) && more}
    >
      {items.length === 0 ? (
        <p className={styles.calm}>
          <CircleCheck size={15} aria-hidden color="var(--good)" />
          {calm}
        </p>
      ) : (
        <ul className={styles.items} aria-label={title}>
          {items.slice(0, most).map(children)}
        </ul>
      )}
    </Panel>
  );
}
