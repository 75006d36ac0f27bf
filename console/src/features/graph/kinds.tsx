import { AlarmClock, ArrowDownToLine, Boxes, Database, type LucideIcon, Waves } from "lucide-react";
import styles from "./GraphNode.module.css";

const ICONS: Record<string, LucideIcon> = {
  repo: Database,
  cron: AlarmClock,
  pipeline: Boxes,
  stream: Waves,
  ingest: ArrowDownToLine,
};

/** The picture of a kind of node; its word stands elsewhere. */
export function KindIcon({ kind, size = 16 }: { kind: string; size?: number }) {
  const Icon = ICONS[kind] ?? Database;
  const flows = kind === "stream" || kind === "ingest";
  return (
    <Icon size={size} aria-hidden className={`${styles.kind} ${flows ? styles.stream : ""}`} />
  );
}
