import type { PipelinePlan } from "~/api/pipelines";
import type { Schema } from "~/api/types";
import { count, plural } from "~/lib/format";
import { full, shown } from "~/lib/names";
import { type Column, List } from "~/ui/List";
import { Note } from "~/ui/Messages";
import { planWords, reasonWords } from "../words";
import styles from "./PlanView.module.css";

const COLUMNS: Column<PipelinePlan>[] = [
  { id: "name", title: "Pipeline", cell: (plan) => shown(plan.name) },
  { id: "action", title: "Action", cell: (plan) => plan.action },
  { id: "version", title: "Version", cell: (plan) => `v${plan.version}`, right: true },
  { id: "run", title: "Run", cell: (plan) => count(plan.run), right: true },
  { id: "reuse", title: "Reuse", cell: (plan) => count(plan.reuse), right: true },
  { id: "keep", title: "Keep", cell: (plan) => count(plan.keep), right: true },
  { id: "drop", title: "Drop", cell: (plan) => count(plan.drop), right: true },
  {
    id: "why",
    title: "Why",
    cell: (plan) => [plan.note, reasonWords(plan.reasons ?? {})].filter(Boolean).join(", "),
    wide: true,
  },
];
const MARKS: Record<string, string> = { run: "+", drop: "−", reuse: "=" };

/** What applying would do: in words, counted, and some datums by name. */
export function PlanView({ report }: { report: Schema<"PlanReport"> }) {
  const { pipelines, ignored, notes } = report;
  return (
    <div className={styles.plan}>
      {ignored.length > 0 && (
        <Note>These mean nothing here, and are ignored: {ignored.join(", ")}.</Note>
      )}
      {notes.map((note) => (
        <Note key={note}>{note}</Note>
      ))}
      {pipelines.map((plan) => (
        <p key={full(plan.name)}>
          {planWords(plan)}{" "}
          {plan.downstream.length > 0 && plan.run + plan.reuse + plan.drop > 0 && (
            <>Then {plan.downstream.join(", ")}.</>
          )}
        </p>
      ))}
      <div className={styles.table}>
        <List label="Plan" items={pipelines} columns={COLUMNS} keyOf={(plan) => full(plan.name)} />
      </div>
      {pipelines
        .filter((plan) => plan.samples.length > 0)
        .map((plan) => (
          <div key={full(plan.name)}>
            <h3>Datums of {shown(plan.name)}</h3>
            <ul className={styles.samples}>
              {plan.samples.map(({ action, reason, datum }, n) => (
                <li key={n} className={styles[action]}>
                  <span aria-hidden>{MARKS[action]}</span>
                  <span className="sr-only">{action}</span>
                  <code>{datum}</code>
                  <span className="dim">{reason}</span>
                </li>
              ))}
            </ul>
            <Rest plan={plan} />
          </div>
        ))}
    </div>
  );
}

function Rest({ plan }: { plan: PipelinePlan }) {
  const more = plan.run + plan.drop + plan.reuse - plan.samples.length;
  return more > 0 ? <p className="dim">… and {plural(more, "datum")} more</p> : null;
}
