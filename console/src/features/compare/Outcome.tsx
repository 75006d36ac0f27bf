import type { MergeReport } from "~/api/compare";
import { bytes, plural } from "~/lib/format";
import { Sign } from "./ChangeList";
import styles from "./Compare.module.css";

const MOST = 200;

/** What a merge would change, in words and by path. */
export function Outcome({
  report: { changes, conflicts, fast_forward },
  source,
  target,
}: {
  report: MergeReport;
  source: string;
  target: string;
}) {
  if (changes.length + conflicts.length === 0)
    return (
      <p role="status">
        Nothing to do: {target} has everything that is on {source}.
      </p>
    );
  const open = conflicts.filter((one) => !one.chosen).length;
  return (
    <>
      <p role="status">
        {plural(changes.length, "file")} of {target} would change.{" "}
        {conflicts.length === 0
          ? fast_forward
            ? `${target} has not moved since ${source} left it, so there is no conflict.`
            : "There is no conflict."
          : open > 0
            ? `Both sides changed ${plural(conflicts.length, "path")}; ${open} to decide.`
            : `Both sides changed ${plural(conflicts.length, "path")}; all are decided.`}
      </p>
      {changes.length > 0 && (
        <ul className={styles.changes} aria-label="What would change" tabIndex={0}>
          {changes.slice(0, MOST).map((one) => (
            <li key={one.path}>
              <Sign change={one.change} />
              <span className="grow clip" title={one.path}>
                {one.path}
              </span>
              <span className="num dim">{bytes(one.new_size ?? one.old_size ?? 0)}</span>
            </li>
          ))}
          {changes.length > MOST && (
            <li className="dim">and {plural(changes.length - MOST, "more file")}</li>
          )}
        </ul>
      )}
    </>
  );
}
