import { useQuery } from "@tanstack/react-query";
import { Workflow } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { overviewQueries } from "~/api/overview";
import { useMoment } from "~/features/moment/useMoment";
import { plural } from "~/lib/format";
import { full } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Check, Select } from "~/ui/Field";
import { Answer, Empty, Failure, Loading } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import GraphCanvas from "./GraphCanvas";
import styles from "./GraphPage.module.css";
import { graphOf, type Overview, part, projectsOf } from "./graph";
import { NodeList } from "./NodeList";
import { NodePanel } from "./NodePanel";
import { SelectorBox } from "./SelectorBox";
import { BadSelector, select } from "./select";
import { useLayout } from "./useLayout";

const BEGIN = `trunkline repo create orders
trunkline put -r orders@main incoming -m "The first day"
trunkline pipeline apply totals.py`;

function selection(text: string, graph: ReturnType<typeof graphOf>) {
  try {
    return { selected: select(text, graph), problem: "" };
  } catch (error) {
    if (error instanceof BadSelector) return { selected: null, problem: error.message };
    throw error;
  }
}

/** `then` is what is drawn; `now` says where, so that nothing jumps when time goes by. */
function GraphView({ then, now }: { then: Overview; now: Overview }) {
  const moment = useMoment();
  const [params, set] = useQueryState();
  const [look, setLook] = useState({ text: "", times: 0 });
  const [text, project, chosen] = ["select", "project", "sel"].map((one) => params.get(one) ?? "");
  const [hides, lists] = [params.get("rest") === "hidden", params.get("view") === "list"];

  const newest = useMemo(() => graphOf(now, project), [now, project]);
  const graph = useMemo(() => graphOf(then, project), [then, project]);
  const { selected, problem } = useMemo(() => selection(text ?? "", graph), [text, graph]);
  const hidden = hides ? selected : null;
  const drawn = useMemo(() => (hidden ? part(graph, hidden) : graph), [graph, hidden]);
  const placed = useMemo(() => (hidden ? part(newest, hidden) : newest), [newest, hidden]);
  const { layout, problem: trouble } = useLayout(placed);
  const choose = useCallback((id: string) => set({ sel: id }, { push: true }), [set]);

  const node = then.nodes.find((one) => full(one.name) === chosen);
  const projects = projectsOf(now);
  const shownNodes = [...drawn.nodes.values()].filter(
    (one) => !selected || selected.has(full(one.name)),
  );
  return (
    <>
      <div className={styles.tools}>
        <SelectorBox
          value={text ?? ""}
          problem={problem}
          onChange={(select) => set({ select })}
          onEnter={(text) => setLook(({ times }) => ({ text, times: times + 1 }))}
        />
        {projects.length > 1 && (
          <div>
            <Select
              aria-label="Project"
              value={project}
              onChange={(event) => set({ project: event.target.value }, { push: true })}
              options={[
                { value: "", text: "All projects" },
                ...projects.map((value) => ({ value, text: value })),
              ]}
            />
          </div>
        )}
        <Check
          label="Hide the rest"
          checked={hides}
          onChange={(now) => set({ rest: now ? "hidden" : null })}
        />
        <Check
          label="As a list"
          checked={lists}
          onChange={(now) => set({ view: now ? "list" : null }, { push: true })}
        />
        <span
          id="selector-result"
          role="status"
          className={`${styles.result} ${problem ? styles.problem : ""}`}
        >
          {problem ||
            (selected
              ? `${plural(selected.size, "node")} of ${graph.nodes.size} selected`
              : plural(graph.nodes.size, "node"))}
        </span>
      </div>
      <div className={styles.body}>
        <div className={styles.view}>
          {lists ? (
            <NodeList nodes={shownNodes} chosen={chosen ?? ""} onChoose={choose} />
          ) : trouble ? (
            <Failure error={new Error(trouble)} />
          ) : layout ? (
            <GraphCanvas
              graph={drawn}
              newest={placed}
              layout={layout}
              selected={selected}
              chosen={chosen ?? ""}
              onChoose={choose}
              look={look.text === text ? look.times : 0}
            />
          ) : (
            <Loading what="Drawing the graph" />
          )}
        </div>
        {node && <NodePanel node={node} graph={graph} moment={moment} onChoose={choose} />}
      </div>
    </>
  );
}

export default function GraphPage() {
  const moment = useMoment();
  const now = useQuery(overviewQueries.at());
  const then = useQuery(overviewQueries.at(moment));
  return (
    <Page title="Graph" about="What is made from what, and how it is doing." full>
      <Answer of={now}>
        {(newest) =>
          newest.nodes.length === 0 ? (
            <Empty title="Nothing flows here yet" icon={Workflow} command={BEGIN}>
              Repos hold data; pipelines make repos from repos. Make one of each, or run{" "}
              <code>trunkline demo</code> for a sample.
            </Empty>
          ) : (
            <Answer of={then}>{(shown) => <GraphView then={shown} now={newest} />}</Answer>
          )
        }
      </Answer>
    </Page>
  );
}
