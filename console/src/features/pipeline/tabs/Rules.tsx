import type { PipelineInfo, Schema } from "~/api/types";
import { type Column, List } from "~/ui/List";
import { Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import styles from "./OverviewTab.module.css";

type Rule = Record<string, unknown>;

const NAMES = ["name", "action", "table"];

/** A rule as it was written: `amount >= 0`, or `unique: day, id`. */
export function ruleWords(rule: Rule): string {
  if (typeof rule.expr === "string") return rule.expr;
  return Object.entries(rule)
    .filter(([name]) => !NAMES.includes(name))
    .map(([name, value]) => {
      const text = Array.isArray(value)
        ? value.join(", ")
        : typeof value === "object"
          ? JSON.stringify(value)
          : String(value);
      return `${name}: ${text}`;
    })
    .join("; ");
}

const COLUMNS: Column<Rule>[] = [
  { id: "name", title: "Rule", cell: (rule) => String(rule.name ?? "") },
  {
    id: "what",
    title: "What must hold",
    cell: (rule) => <code>{ruleWords(rule)}</code>,
    wide: true,
  },
  { id: "action", title: "Else", cell: (rule) => String(rule.action ?? "fail") },
];

/** What is expected of the output, and how the last job met it. */
export function Rules({
  pipeline,
  counts,
}: {
  pipeline: PipelineInfo;
  counts: Schema<"CheckCounts"> | null;
}) {
  const rules = (pipeline.spec?.expectations ?? []) as Rule[];
  if (rules.length === 0) return null;
  const told = (["passed", "warned", "quarantined", "failed"] as const).filter(
    (state) => (counts?.[state] ?? 0) > 0,
  );
  return (
    <Panel
      title="Expectations"
      actions={
        <span className={styles.counts}>
          {told.map((state) => (
            <State
              key={state}
              state={state === "quarantined" ? "warned" : state}
              text={`${counts?.[state]} ${state}`}
            />
          ))}
        </span>
      }
    >
      <List
        label="Expectations"
        sortName="rules"
        items={rules}
        columns={COLUMNS}
        keyOf={(rule) => `${String(rule.name)} ${ruleWords(rule)}`}
      />
    </Panel>
  );
}
