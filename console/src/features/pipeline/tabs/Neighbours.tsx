import { ArrowRight } from "lucide-react";
import type { RepoName, Schema } from "~/api/types";
import { full, same, shown } from "~/lib/names";
import { PipelineLink, RepoLink } from "~/ui/Link";
import styles from "./OverviewTab.module.css";

/** A pipeline between what it reads and what reads it. */
export function Neighbours({
  name,
  edges,
  nodes,
}: {
  name: RepoName;
  edges: Schema<"OverviewEdge">[];
  nodes: Schema<"OverviewNode">[];
}) {
  const inputs = edges.filter((edge) => same(edge.target, name));
  const readers = edges.filter((edge) => same(edge.source, name));
  const isPipeline = (one: RepoName) =>
    nodes.some((node) => same(node.name, one) && node.version !== null);
  const link = (one: RepoName) =>
    isPipeline(one) ? <PipelineLink name={one} /> : <RepoLink name={one} />;
  return (
    <div className={styles.graph}>
      <ul aria-label="Reads">
        {inputs.map((edge) => (
          <li key={`${full(edge.source)} ${edge.label}`} className={styles.node}>
            {link(edge.source)}
            {edge.label && edge.label !== edge.source.repo && <small>as {edge.label}</small>}
            {!edge.starts && <small>starts no jobs</small>}
          </li>
        ))}
        {inputs.length === 0 && <li className="dim">No repo: data comes from outside.</li>}
      </ul>
      <ArrowRight size={16} aria-hidden />
      <div className={`${styles.node} ${styles.own}`}>{shown(name)}</div>
      <ArrowRight size={16} aria-hidden />
      <ul aria-label="Is read by">
        {readers.map((edge) => (
          <li key={full(edge.target)} className={styles.node}>
            {link(edge.target)}
          </li>
        ))}
        {readers.length === 0 && <li className="dim">No pipeline reads it yet.</li>}
      </ul>
    </div>
  );
}
