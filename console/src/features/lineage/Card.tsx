import {
  Code2,
  EllipsisVertical,
  ExternalLink,
  EyeOff,
  File,
  Folder,
  GitCommitHorizontal,
  type LucideIcon,
  Play,
  Table2,
} from "lucide-react";
import { createContext, useContext } from "react";
import { Link } from "~/ui/Link";
import type { Box, Goal, Kind, Row, Way } from "./drawn";
import styles from "./Lineage.module.css";

export interface Steering {
  /** Tells the lineage of another thing. */
  go: (goal: Goal) => void;
  /** Follows more places at each step. */
  more: () => void;
}

export const Steer = createContext<Steering>({ go: () => undefined, more: () => undefined });

const ICONS: Record<Kind, LucideIcon> = {
  commit: GitCommitHorizontal,
  file: File,
  folder: Folder,
  code: Code2,
  table: Table2,
  more: EllipsisVertical,
  hidden: EyeOff,
};

const WAYS: Record<Way["kind"], LucideIcon> = { open: ExternalLink, job: Play, code: Code2 };

/** A commit, file, folder, table or code. Pressing it tells of its own lineage. */
export function Card({ box }: { box: Box }) {
  const { go, more } = useContext(Steer);
  const { kind, title, detail, whole, goal, root, ways, rows } = box;
  const Icon = ICONS[kind];
  const act = goal ? () => go(goal) : kind === "more" ? more : undefined;
  const face = (
    <>
      <span className={styles.title}>
        <Icon size={15} aria-hidden />
        <span className="sr-only">{kind} </span>
        <span className="clip">{title}</span>
      </span>
      <span className={`${styles.detail} clip`}>{detail}</span>
    </>
  );
  return (
    <article
      className={`${styles.card} ${styles[kind]} ${root ? styles.root : ""} nopan`}
      aria-current={root ? "true" : undefined}
    >
      <div className={styles.head}>
        {act ? (
          <button type="button" className={styles.face} title={whole} onClick={act}>
            {face}
          </button>
        ) : (
          <span className={styles.face} title={whole}>
            {face}
          </span>
        )}
        <span className={styles.ways}>
          {ways.map(({ to, text, kind: way }) => {
            const Way = WAYS[way];
            return (
              <Link key={to} to={to} aria-label={`${text}: ${title}`} title={text}>
                <Way size={13} aria-hidden />
              </Link>
            );
          })}
        </span>
      </div>
      {rows.length > 0 && (
        <ul className={styles.rows} aria-label={`Columns of ${title}`}>
          {rows.map((row) => (
            <ColumnRow key={row.id} row={row} />
          ))}
        </ul>
      )}
    </article>
  );
}

function ColumnRow({ row: { text, note, goal, chosen } }: { row: Row }) {
  const { go } = useContext(Steer);
  return (
    <li>
      <button
        type="button"
        className={styles.row}
        aria-pressed={chosen}
        title={note ? `${text}: ${note}` : text}
        onClick={() => goal && go(goal)}
      >
        <span className="clip">{text}</span>
        {note && <span className={`${styles.note} clip`}>{note}</span>}
      </button>
    </li>
  );
}
