import { useQuery } from "@tanstack/react-query";
import { type ColumnNode, tableQueries } from "~/api/tables";
import { shown as nameOf, paths, ref } from "~/lib/names";
import { Link } from "~/ui/Link";
import { Answer } from "~/ui/Messages";
import styles from "./ColumnLineage.module.css";
import { tablePath } from "./place";
import type { Shown } from "./useTable";

const repoOf = (node: ColumnNode): string =>
  `${nameOf(node.repo)}${node.table ? `:/${node.table}` : ""}`;

const linkOf = (node: ColumnNode): string =>
  tablePath(
    { name: node.repo, path: node.table ? `/${node.table}` : "/" },
    { tab: "lineage", column: node.column, ...(node.commit ? { at: node.commit } : {}) },
  );

/** Why a branch ends, or how a value was made. */
const remarkOf = (node: ColumnNode): string =>
  [node.pipeline && `by ${node.pipeline}`, node.note, node.seen && "shown above"]
    .filter(Boolean)
    .join(", ");

function Node({ node }: { node: ColumnNode }) {
  if (node.hidden) return <span className={`${styles.node} dim`}>hidden from you</span>;
  return (
    <Link className={styles.node} to={linkOf(node)} title={`${repoOf(node)}.${node.column}`}>
      <b className="clip">{node.column}</b>
      <span className="clip dim">{repoOf(node)}</span>
      {remarkOf(node) && <span className="clip dim">{remarkOf(node)}</span>}
    </Link>
  );
}

function Branch({ node, side }: { node: ColumnNode; side: "left" | "right" }) {
  return (
    <div className={`${styles.branch} ${styles[side]}`}>
      <Node node={node} />
      <Twigs nodes={node.below} side={side} />
    </div>
  );
}

function Twigs({ nodes, side }: { nodes: ColumnNode[]; side: "left" | "right" }) {
  if (nodes.length === 0) return null;
  return (
    <div className={styles.twigs}>
      {nodes.map((one, n) => (
        <div key={n} className={styles.twig}>
          <Branch node={one} side={side} />
        </div>
      ))}
    </div>
  );
}

function Names({ nodes }: { nodes: ColumnNode[] }) {
  return (
    <ul className={styles.list}>
      {nodes.map((one, n) => (
        <li key={n}>
          {one.hidden ? (
            <span className="dim">hidden from you</span>
          ) : (
            <>
              <Link to={linkOf(one)}>
                {repoOf(one)}.{one.column}
              </Link>{" "}
              <span className="dim">{remarkOf(one)}</span>
            </>
          )}
          {one.below.length > 0 && <Names nodes={one.below} />}
        </li>
      ))}
    </ul>
  );
}

/** What a column was made from, to its left, and what is made from it, to its right. */
export function ColumnLineage({
  shown: { place, commit },
  column,
  narrow,
}: {
  shown: Shown;
  column: string;
  /** One below the other, as lists. */
  narrow?: boolean;
}) {
  const lineage = useQuery(tableQueries.lineage(place.name, commit, place.path, column));
  const all = (
    <Link to={paths.lineage(ref(place.name, commit, place.path), column)}>
      Open in the lineage explorer
    </Link>
  );
  return (
    <Answer of={lineage}>
      {({ columns: [up], down }) => {
        const made = down?.[0];
        const [from, to] = [up?.below ?? [], made?.below ?? []];
        if (narrow) {
          return (
            <div className="stack" style={{ gap: "var(--s2)" }}>
              <div>
                <span className="dim">Made from</span>
                {from.length > 0 ? (
                  <Names nodes={from} />
                ) : (
                  <p>{up?.note || "Nothing: it is a source."}</p>
                )}
              </div>
              <div>
                <span className="dim">Made into</span>
                {to.length > 0 ? <Names nodes={to} /> : <p>{made?.note || "Nothing yet."}</p>}
              </div>
              {all}
            </div>
          );
        }
        return (
          <div className="stack">
            <section className={styles.scroll} aria-label={`Lineage of ${column}`} tabIndex={0}>
              <div className={styles.tree}>
                <div className={`${styles.branch} ${styles.left}`}>
                  <span className={`${styles.node} ${styles.here}`} aria-current="true">
                    <b className="clip">{column}</b>
                    <span className="clip">{nameOf(place.name)}</span>
                    {up && remarkOf(up) && <span className="clip dim">{remarkOf(up)}</span>}
                  </span>
                  <Twigs nodes={from} side="left" />
                </div>
                <div className={`${styles.branch} ${styles.right}`}>
                  <Twigs nodes={to} side="right" />
                </div>
              </div>
            </section>
            <p className="dim">
              {from.length === 0 &&
                (up?.note || "It was made from no other column: it is a source. ")}
              {to.length === 0 && (made?.note || "Nothing is made from it yet. ")}
              {all}
            </p>
          </div>
        );
      }}
    </Answer>
  );
}
