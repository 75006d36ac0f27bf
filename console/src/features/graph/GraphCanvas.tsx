import "@xyflow/react/dist/base.css";
import {
  type Edge,
  MiniMap,
  type Node,
  Panel,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
} from "@xyflow/react";
import { Maximize, Minus, Plus } from "lucide-react";
import { type KeyboardEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { plural } from "~/lib/format";
import { Button } from "~/ui/Button";
import { toneOf } from "~/ui/State";
import { Drawing, type Look } from "./drawing";
import styles from "./GraphCanvas.module.css";
import { type Card, Choose, domId, GraphNode, ProjectBox, Seen } from "./GraphNode";
import { NODE } from "./layout";
import { isStep, step } from "./walk";

const KINDS = { card: GraphNode, project: ProjectBox };
const FAR = 0.42;
const VERY_FAR = 0.14;
const FIT = { padding: 0.08, maxZoom: 1 };
const MANY = 150;

type Props = Omit<Look, "tabbed"> & {
  onChoose: (id: string) => void;
  /** Another number than 0 brings what is selected into view. */
  look: number;
};

const still = (): boolean => window.matchMedia("(prefers-reduced-motion: reduce)").matches;
const moving = () => ({ duration: still() ? 0 : 300 });

function minimapColour({ type, data }: Node): string {
  if (type === "project") return "transparent";
  const { node, gone } = data as Card;
  const tone = toneOf(node.state);
  return gone ? "transparent" : `var(--${tone === "calm" ? "line-strong" : tone})`;
}

function Zoom() {
  const flow = useReactFlow();
  return (
    <Panel position="bottom-left" className={styles.zoom}>
      <Button small icon={Plus} label="Zoom in" onClick={() => void flow.zoomIn(moving())} />
      <Button small icon={Minus} label="Zoom out" onClick={() => void flow.zoomOut(moving())} />
      <Button
        small
        icon={Maximize}
        label="Fit the graph"
        onClick={() => void flow.fitView({ ...FIT, ...moving() })}
      />
    </Panel>
  );
}

/** Moves the view if a node is not in it. */
function useReveal(layout: Look["layout"]): (id: string) => void {
  const flow = useReactFlow();
  return useCallback(
    (id) => {
      const at = layout.at[id];
      const box = document.getElementById("graph")?.getBoundingClientRect();
      if (!at || !box) return;
      const start = flow.flowToScreenPosition(at);
      const end = flow.flowToScreenPosition({ x: at.x + NODE.width, y: at.y + NODE.height });
      const inside =
        start.x >= box.left && end.x <= box.right && start.y >= box.top && end.y <= box.bottom;
      if (inside) return;
      void flow.setCenter(at.x + NODE.width / 2, at.y + NODE.height / 2, {
        zoom: Math.max(flow.getZoom(), FAR),
      });
    },
    [flow, layout],
  );
}

/** When what was asked for has been drawn. */
function drawn(then: () => void): () => void {
  let asked = requestAnimationFrame(() => {
    asked = requestAnimationFrame(then);
  });
  return () => cancelAnimationFrame(asked);
}

function Canvas({ onChoose, look, ...shown }: Props) {
  const { graph, layout, newest, selected, chosen } = shown;
  const flow = useReactFlow();
  const reveal = useReveal(layout);
  const seen = useStore(({ transform: [, , zoom] }) =>
    zoom < VERY_FAR ? "speck" : zoom < FAR ? "name" : "all",
  );
  const [reached, setReached] = useState("");
  const tabbed = [reached, chosen].find((id) => graph.nodes.has(id)) ?? layout.order[0] ?? "";
  const drawing = useRef<Drawing>(undefined);
  drawing.current ??= new Drawing();
  const { nodes, edges } = useMemo(() => {
    const all: Look = { graph, layout, newest, selected, chosen, tabbed };
    const made = drawing.current ?? new Drawing();
    return { nodes: made.nodes(all) as Node[], edges: made.lines(all, styles) as Edge[] };
  }, [graph, layout, newest, selected, chosen, tabbed]);

  const frame = useCallback(
    (ids: Iterable<string>, how = {}) => {
      const nodes = [...ids].filter((id) => layout.at[id]).map((id) => ({ id }));
      void flow.fitView({ ...FIT, ...(nodes.length > 0 ? { nodes } : {}), ...how });
    },
    [flow, layout],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another layout moves the view
  useEffect(
    () => drawn(() => frame(layout.order.length > MANY ? (selected ?? [chosen]) : [])),
    [layout],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the wish to see it moves the view
  useEffect(() => {
    if (look > 0) frame(selected ?? [], moving());
  }, [look]);
  // The panel that opens takes room from the graph.
  useEffect(() => drawn(() => reveal(chosen)), [chosen, reveal]);

  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape" && chosen) onChoose("");
    if (!isStep(event.key) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const { id } = event.target as HTMLElement;
    const on = id.startsWith(domId("")) ? id.slice(domId("").length) : "";
    const next = on ? step(on, event.key, graph, layout) : tabbed;
    setReached(next);
    reveal(next);
    const focus = () => document.getElementById(domId(next))?.focus({ preventScroll: true });
    // What was out of view is drawn a moment later.
    if (document.getElementById(domId(next))) focus();
    else drawn(focus);
  };
  const choose = useCallback(
    (id: string) => {
      setReached(id);
      onChoose(id);
    },
    [onChoose],
  );
  return (
    <Choose value={choose}>
      <Seen value={seen}>
        <div
          id="graph"
          className={styles.canvas}
          role="group"
          tabIndex={0}
          aria-label={`Graph of ${plural(graph.nodes.size, "node")}. Arrow keys move along it, Enter opens a node.`}
          onKeyDown={keys}
        >
          <ReactFlow
            nodes={nodes}
            edges={edges}
            nodeTypes={KINDS}
            minZoom={0.02}
            maxZoom={2}
            onlyRenderVisibleElements
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable={false}
            edgesFocusable={false}
            elementsSelectable={false}
            disableKeyboardA11y
            deleteKeyCode={null}
            selectionKeyCode={null}
            zoomOnDoubleClick={false}
          >
            <MiniMap
              pannable
              zoomable
              ariaLabel="Small map of the graph"
              nodeColor={minimapColour}
              nodeBorderRadius={12}
              className={styles.map}
            />
            <Zoom />
          </ReactFlow>
        </div>
      </Seen>
    </Choose>
  );
}

export default function GraphCanvas(props: Props) {
  return (
    <ReactFlowProvider>
      <Canvas {...props} />
    </ReactFlowProvider>
  );
}
