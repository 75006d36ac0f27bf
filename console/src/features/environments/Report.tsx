import type { EnvironmentReport } from "~/api/environments";
import { paths } from "~/lib/names";
import { Link } from "~/ui/Link";
import { Note } from "~/ui/Messages";
import styles from "./Environments.module.css";
import { doneWords, stepWords } from "./words";

/** What a merge or a sync would do, step by step; what keeps it from that comes first. */
export function Planned({ report }: { report: EnvironmentReport }) {
  const { steps, conflicts } = report;
  if (steps.length + conflicts.length === 0) return <p role="status">Nothing is to be done.</p>;
  return (
    <>
      {conflicts.map((words) => (
        <Note key={words}>{words}</Note>
      ))}
      {steps.length > 0 && (
        <ul className={styles.steps} aria-label="What would be done" tabIndex={0}>
          {steps.map((step) => (
            <li key={stepWords(step)}>{stepWords(step)}</li>
          ))}
        </ul>
      )}
    </>
  );
}

export function Done({ report }: { report: EnvironmentReport }) {
  return (
    <p role="status">
      {doneWords(report)}{" "}
      {report.set_id && <Link to={paths.set(report.set_id)}>Its commits and jobs</Link>}
    </p>
  );
}
