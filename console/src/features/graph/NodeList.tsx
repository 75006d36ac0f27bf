import { useState } from "react";
import { bytes } from "~/lib/format";
import { full, shown } from "~/lib/names";
import { type Column, List } from "~/ui/List";
import { Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import { Time } from "~/ui/Time";
import { flowText } from "./GraphNode";
import styles from "./GraphPage.module.css";
import { freshness, kindOf, type LakeNode } from "./graph";

const STEP = 200;

const columnsFor = (onChoose: (id: string) => void): Column<LakeNode>[] => [
  {
    id: "name",
    title: "Name",
    cell: (n) => (
      <button type="button" className={styles.link} onClick={() => onChoose(full(n.name))}>
        {shown(n.name)}
      </button>
    ),
    sort: (n) => shown(n.name),
  },
  { id: "kind", title: "Kind", cell: kindOf, sort: kindOf },
  {
    id: "state",
    title: "State",
    cell: (n) => n.state && <State state={n.state} />,
    sort: (n) => n.state,
  },
  {
    id: "job",
    title: "Last change",
    cell: (n) => <Time at={n.job?.finished ?? n.job?.created ?? n.head?.at} />,
    sort: (n) => n.job?.finished ?? n.job?.created ?? n.head?.at ?? "",
  },
  { id: "fresh", title: "Freshness", cell: freshness, sort: (n) => n.behind },
  { id: "reads", title: "Reads", cell: (n) => n.inputs.map(shown).join(", "), wide: true },
  { id: "flow", title: "Made", cell: flowText, right: true },
  {
    id: "size",
    title: "Size",
    cell: (n) => (n.head ? bytes(n.head.size) : ""),
    sort: (n) => n.head?.size ?? 0,
    right: true,
  },
];

/** The graph as a list, for those who would rather read it. */
export function NodeList({
  nodes,
  chosen,
  onChoose,
}: {
  nodes: LakeNode[];
  chosen: string;
  onChoose: (id: string) => void;
}) {
  const [most, setMost] = useState(STEP);
  return (
    <Panel>
      <List
        label="Nodes of the graph"
        items={nodes.slice(0, most)}
        columns={columnsFor(onChoose)}
        keyOf={(node) => full(node.name)}
        chosen={chosen}
        more={nodes.length > most ? { load: () => setMost(most + STEP), busy: false } : undefined}
      />
    </Panel>
  );
}
