import { CircleCheck, CircleX, LoaderCircle } from "lucide-react";
import { asApiError } from "~/api/errors";
import styles from "./Editor.module.css";
import type { Draft } from "./useDraft";

/** What the server says of the text, in its own words. */
export function Verdict({ draft }: { draft: Draft }) {
  if (draft.checking) {
    return (
      <div className={`${styles.verdict} ${styles.checking}`} role="status">
        <LoaderCircle size={15} aria-hidden /> The server reads it.
      </div>
    );
  }
  if (!draft.error) {
    return (
      <div className={styles.verdict} role="status">
        <CircleCheck size={15} color="var(--good)" aria-hidden /> The spec can be read.
      </div>
    );
  }
  const { message, hint } = asApiError(draft.error);
  return (
    <div className={`${styles.verdict} ${styles.wrong}`} role="status">
      <CircleX size={15} color="var(--bad)" aria-hidden />
      <span className={styles.said}>
        {message} {hint && <span className="dim">{hint}</span>}
      </span>
    </div>
  );
}
