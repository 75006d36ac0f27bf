import type { Node, NodeProps } from "@xyflow/react";
import { Check, TriangleAlert, X } from "lucide-react";
import { createContext, memo, useContext } from "react";
import { bytes, compact } from "~/lib/format";
import { shown } from "~/lib/names";
import { State, StateIcon, toneOf } from "~/ui/State";
import { Lasting, Time } from "~/ui/Time";
import styles from "./GraphNode.module.css";
import { freshness, isFlowing, type LakeNode } from "./graph";
import { KindIcon } from "./kinds";

export interface Card extends Record<string, unknown> {
  node: LakeNode;
  label: string;
  chosen: boolean;
  dim: boolean;
  /** Not there at the moment that is looked at. */
  gone: boolean;
  /** The one that the Tab key reaches; arrows lead to the others. */
  tabbed: boolean;
}
export type CardNode = Node<Card, "card">;

/** From how far one looks: at "all", at the "name" and the state, or at a "speck" in its colour. */
export type Detail = "all" | "name" | "speck";
export const Seen = createContext<Detail>("all");
export const Choose = createContext<(id: string) => void>(() => undefined);

export const domId = (id: string): string => `node:${id}`;

/** What goes through it: rows each second while it flows, else what the last job made. */
export function flowText(node: LakeNode): string {
  const { rows_per_second: speed, job, head } = node;
  if (speed && isFlowing(node)) return `${compact(speed)} rows/s`;
  if (typeof job?.rows_out === "number") {
    return `${compact(job.rows_out)} ${job.rows_out === 1 ? "row" : "rows"}`;
  }
  if (job?.bytes_out) return bytes(job.bytes_out);
  return head ? bytes(head.size) : "";
}

function Checks({ node: { checks } }: { node: LakeNode }) {
  if (!checks) return null;
  const warned = checks.warned + checks.quarantined;
  return (
    <>
      {checks.passed > 0 && (
        <span
          className={`${styles.sign} ${styles.passed}`}
          title={`${checks.passed} checks passed`}
        >
          <Check size={13} aria-hidden /> {checks.passed}
        </span>
      )}
      {warned > 0 && (
        <span className={`${styles.sign} ${styles.warned}`} title={`${warned} checks warn`}>
          <TriangleAlert size={12} aria-hidden /> {warned}
        </span>
      )}
      {checks.failed > 0 && (
        <span
          className={`${styles.sign} ${styles.broken}`}
          title={`${checks.failed} checks failed`}
        >
          <X size={13} aria-hidden /> {checks.failed}
        </span>
      )}
    </>
  );
}

function LastChange({ node: { job, head, schedule } }: { node: LakeNode }) {
  if (job) {
    return (
      <>
        <Time at={job.finished ?? job.started ?? job.created} />
        {job.started && (
          <>
            <span aria-hidden>·</span>
            <Lasting from={job.started} to={job.finished} />
          </>
        )}
      </>
    );
  }
  if (!head) return <span>{schedule || "no commits yet"}</span>;
  return (
    <>
      <Time at={head.at} />
      <span aria-hidden>·</span>
      <span className="clip">{head.message || "no message"}</span>
    </>
  );
}

function Near({ node }: { node: LakeNode }) {
  const fresh = freshness(node);
  return (
    <>
      <div className={styles.line}>
        <LastChange node={node} />
      </div>
      <div className={styles.line}>
        {fresh && <span className={node.behind > 0 ? styles.behind : ""}>{fresh}</span>}
        {!fresh && <span>{node.kind === "cron" ? node.schedule : node.how || node.kind}</span>}
        <Checks node={node} />
        <span className={styles.flow}>{flowText(node)}</span>
      </div>
    </>
  );
}

/** A card, all of which is its button. Its ends are what the library looks for to draw lines between;
 * its own `Handle` would listen to every movement of the view, twice for each node.
 */
export const GraphNode = memo(function GraphNode({ id, data }: NodeProps<CardNode>) {
  const { node, label, chosen, dim, gone, tabbed } = data;
  const seen = useContext(Seen);
  const choose = useContext(Choose);
  const far = seen !== "all";
  const look = [
    styles.node,
    styles[toneOf(node.state)],
    chosen && styles.chosen,
    dim && styles.dim,
    gone && styles.gone,
    far && styles[seen],
  ];
  return (
    <>
      <i className={`target ${styles.end} ${styles.left}`} data-handlepos="left" />
      <div className={look.filter(Boolean).join(" ")} data-node={shown(node.name)}>
        <div className={styles.line}>
          {seen !== "speck" && <KindIcon kind={node.kind} size={far ? 30 : 16} />}
          <button
            type="button"
            id={domId(id)}
            className={`${styles.open} clip`}
            aria-label={label}
            aria-pressed={chosen}
            title={shown(node.name)}
            tabIndex={tabbed ? 0 : -1}
            onClick={() => choose(id)}
          >
            {seen !== "speck" && node.name.repo}
          </button>
          {node.state && seen === "all" && <State state={node.state} />}
          {node.state && seen === "name" && <StateIcon state={node.state} size={34} />}
        </div>
        {!far && <Near node={node} />}
      </div>
      <i className={`source ${styles.end} ${styles.right}`} data-handlepos="right" />
    </>
  );
});

export type BoxNode = Node<{ name: string }, "project">;

export const ProjectBox = memo(function ProjectBox({ data }: NodeProps<BoxNode>) {
  return (
    <div className={styles.project}>
      <h2 className="clip">{data.name}</h2>
    </div>
  );
});
