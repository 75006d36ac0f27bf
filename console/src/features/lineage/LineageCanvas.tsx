import "@xyflow/react/dist/base.css";
import {
  type Edge,
  Handle,
  type Node,
  type NodeProps,
  Panel,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from "@xyflow/react";
import { Maximize, Minus, Plus } from "lucide-react";
import { memo, useEffect, useMemo } from "react";
import { plural } from "~/lib/format";
import { Button } from "~/ui/Button";
import { Failure, Loading } from "~/ui/Messages";
import { Card, Steer, type Steering } from "./Card";
import { type Box, type Drawn, HEAD, heightOf, ROW, WIDTH } from "./drawn";
import styles from "./Lineage.module.css";
import type { Layout } from "./layout";
import { useLayout } from "./useLayout";

type BoxNode = Node<{ box: Box }, "box">;

const FIT = { padding: 0.06, maxZoom: 1.1 };
// From further away nothing can be read: then the root and what is next to it is shown first.
const LEGIBLE = 0.55;
const NEAR = 0.8;
const PLAIN = { "aria-roledescription": undefined };

const Drawing = memo(function Drawing({ data: { box } }: NodeProps<BoxNode>) {
  const ends = [
    { type: "target", position: Position.Left },
    { type: "source", position: Position.Right },
  ] as const;
  const middle = (n: number) => HEAD + n * ROW + ROW / 2;
  return (
    <>
      {ends.map((end) => (
        <Handle key={end.type} {...end} id="" style={{ top: HEAD / 2 }} isConnectable={false} />
      ))}
      {box.rows.flatMap((row, n) =>
        ends.map((end) => (
          <Handle
            key={`${end.type} ${row.id}`}
            {...end}
            id={`row ${row.id}`}
            style={{ top: middle(n) }}
            isConnectable={false}
          />
        )),
      )}
      <Card box={box} />
    </>
  );
});
const TYPES = { box: Drawing };

const handle = (row: string | undefined): string => (row ? `row ${row}` : "");

/** The root, with more room on the side where there is something. */
function lookedAt(
  { boxes }: Drawn,
  layout: Layout,
): [x: number, y: number, options: { zoom: number }] {
  const root = boxes.find((box) => box.root);
  const { x, y } = (root && layout[root.id]) ?? { x: 0, y: 0 };
  const others = boxes.map((box) => (layout[box.id]?.x ?? x) - x);
  const aside =
    1.3 * WIDTH * (Number(others.some((dx) => dx > 0)) - Number(others.some((dx) => dx < 0)));
  return [x + WIDTH / 2 + aside, y + HEAD / 2, { zoom: NEAR }];
}

function Zoom() {
  const flow = useReactFlow();
  return (
    <Panel position="bottom-left" className={styles.zoom}>
      <Button small icon={Plus} label="Zoom in" onClick={() => void flow.zoomIn()} />
      <Button small icon={Minus} label="Zoom out" onClick={() => void flow.zoomOut()} />
      <Button small icon={Maximize} label="Fit the graph" onClick={() => void flow.fitView(FIT)} />
    </Panel>
  );
}

function Canvas({ drawn, layout }: { drawn: Drawn; layout: Layout }) {
  const flow = useReactFlow();
  const nodes = useMemo(
    () =>
      drawn.boxes.map((box): BoxNode => {
        const size = { width: WIDTH, height: heightOf(box) };
        const position = layout[box.id] ?? { x: 0, y: 0 };
        return { id: box.id, type: "box", position, data: { box }, ...size, domAttributes: PLAIN };
      }),
    [drawn, layout],
  );
  const edges = useMemo(
    () =>
      drawn.lines.map(
        ({ source, target, from, to }): Edge => ({
          id: JSON.stringify([source, from, target, to]),
          source,
          target,
          sourceHandle: handle(from),
          targetHandle: handle(to),
          focusable: false,
        }),
      ),
    [drawn],
  );
  useEffect(() => {
    const look = async () => {
      await flow.fitView(FIT);
      if (flow.getZoom() < LEGIBLE) await flow.setCenter(...lookedAt(drawn, layout));
    };
    const asked = requestAnimationFrame(() => void look());
    return () => cancelAnimationFrame(asked);
  }, [drawn, layout, flow]);
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={TYPES}
      minZoom={0.05}
      maxZoom={1.6}
      fitView
      fitViewOptions={FIT}
      onlyRenderVisibleElements={nodes.length > 300}
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
      <Zoom />
    </ReactFlow>
  );
}

/** Where something came from on the left, what became of it on the right. */
export default function LineageCanvas({ drawn, steering }: { drawn: Drawn; steering: Steering }) {
  const shape = useMemo(
    () => ({
      boxes: drawn.boxes.map((box) => ({ id: box.id, width: WIDTH, height: heightOf(box) })),
      edges: drawn.lines.map(({ source, target }): [string, string] => [source, target]),
    }),
    [drawn],
  );
  const { layout, problem } = useLayout(shape);
  return (
    <section
      className={styles.canvas}
      aria-label={`Graph of ${plural(drawn.boxes.length, "node")}, left to right. The same is told as a tree beside it.`}
    >
      {problem ? (
        <Failure error={new Error(problem)} />
      ) : layout ? (
        <Steer value={steering}>
          <ReactFlowProvider>
            <Canvas drawn={drawn} layout={layout} />
          </ReactFlowProvider>
        </Steer>
      ) : (
        <Loading what="Arranging the graph" />
      )}
    </section>
  );
}
