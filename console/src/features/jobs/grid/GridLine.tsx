import type { VirtualItem } from "@tanstack/react-virtual";
import { memo } from "react";
import type { Job, RepoName } from "~/api/types";
import { full, shown } from "~/lib/names";
import { StateIcon, toneOf } from "~/ui/State";
import { factsOf } from "./HoverCard";
import styles from "./JobsGrid.module.css";
import type { SetColumn } from "./shape";

interface Props {
  name: RepoName;
  index: number;
  top: number;
  size: { column: number; line: number; names: number; width: number };
  seen: VirtualItem[];
  columns: SetColumn[];
  /** The column of the active square, if it is in this line; else -1. */
  active: number;
  /** The set of the chosen job, if it is of this line; else "". */
  chosen: string;
  onPick: (name: RepoName, set: string) => void;
  onOpen: (job: Job) => void;
  onPoint: (job: Job | undefined, at: Element) => void;
}

const label = (name: string, job: Job | undefined): string =>
  job ? `${name}: ${factsOf(job).join(", ")}` : `${name}: no job`;

/** The jobs of one pipeline. A step by keys draws only the lines that it leaves and enters. */
export const GridLine = memo(function GridLine(props: Props) {
  const { name, index, top, size, seen, columns, active, chosen } = props;
  const key = full(name);
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className={`${styles.line} ${active >= 0 ? styles.on : ""}`}
      style={{ width: size.width, height: size.line, transform: `translateY(${top}px)` }}
    >
      <div
        role="rowheader"
        aria-colindex={1}
        className={styles.name}
        style={{ width: size.names }}
        title={shown(name)}
      >
        {shown(name)}
      </div>
      {seen.map((field) => {
        const set = columns[field.index];
        if (!set) return null;
        const job = set.jobs.get(key);
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the grid hears the keys
          <div
            key={set.id}
            id={`square-${index}-${field.index}`}
            role="gridcell"
            aria-colindex={field.index + 2}
            aria-label={label(shown(name), job)}
            aria-selected={job !== undefined && chosen === set.id}
            className={styles.cell}
            style={{ left: field.start, width: size.column, height: size.line }}
            data-active={active === field.index || undefined}
            onClick={() => props.onPick(name, set.id)}
            onDoubleClick={() => job && props.onOpen(job)}
            onPointerEnter={(event) => props.onPoint(job, event.currentTarget)}
          >
            {job && (
              <span className={`${styles.square} ${styles[toneOf(job.state)]}`}>
                <StateIcon state={job.state} size={14} />
              </span>
            )}
          </div>
        );
      })}
    </div>
  );
});
