import { useQuery } from "@tanstack/react-query";
import { SlidersHorizontal } from "lucide-react";
import { statusQueries } from "~/api/status";
import type { Schema } from "~/api/types";
import { useQueryState } from "~/lib/url";
import { Check, SearchBox } from "~/ui/Field";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import styles from "./Admin.module.css";

type Setting = Schema<"SettingInfo">;

const COLUMNS: Column<Setting>[] = [
  {
    id: "name",
    title: "Setting",
    cell: (one) => <span className={`mono ${styles.line}`}>{one.name}</span>,
    sort: (one) => one.name,
  },
  {
    id: "value",
    title: "Value",
    cell: (one) => <div className={`mono ${styles.roomy}`}>{one.value || "–"}</div>,
  },
  {
    id: "source",
    title: "From",
    cell: (one) =>
      one.source === "default" ? <span className="dim">default</span> : <b>{one.source}</b>,
    sort: (one) => one.source,
  },
  { id: "about", title: "What it is", cell: (one) => one.description, wide: true },
];

/** What the server was told, and by whom. It is read here, and set on the command line. */
export function SettingsTab() {
  const settings = useQuery(statusQueries.settings());
  const [params, set] = useQueryState();
  const [text, all] = [params.get("q") ?? "", params.get("all") !== "0"];
  const wanted = text.toLowerCase();
  return (
    <div className="stack">
      <div className="row wrap">
        <div style={{ width: 300 }}>
          <SearchBox label="Filter settings" value={text} onChange={(q) => set({ q })} />
        </div>
        <Check
          label="Only those that were set"
          checked={!all}
          onChange={(only) => set({ all: only ? "0" : null })}
        />
        <span className="grow" />
        <span className="dim">
          To set one: <code>trunkline config set NAME VALUE</code>
        </span>
      </div>
      <Panel>
        <Answer of={settings}>
          {(found) => (
            <List
              label="Settings"
              items={found.filter(
                (one) =>
                  (all || one.source !== "default") &&
                  `${one.name} ${one.description}`.toLowerCase().includes(wanted),
              )}
              columns={COLUMNS}
              keyOf={(one) => one.name}
              empty={<Empty title="No setting is like this" icon={SlidersHorizontal} />}
            />
          )}
        </Answer>
      </Panel>
    </div>
  );
}
