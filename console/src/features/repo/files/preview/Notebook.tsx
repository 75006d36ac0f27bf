import { Code } from "~/ui/code/Code";
import { Empty } from "~/ui/Messages";
import type { Cell } from "./notebook";
import styles from "./Preview.module.css";

/** The cells of a notebook: code, text, and what was printed. Nothing of it is run or rendered. */
export function Notebook({ cells }: { cells: Cell[] }) {
  if (cells.length === 0) return <Empty title="This notebook has no cells" />;
  return (
    <div className={styles.notebook}>
      {cells.map((cell, n) => (
        <section key={n} className={styles.cell} aria-label={`Cell ${n + 1}, ${cell.kind}`}>
          <span className={styles.number}>
            {cell.kind === "code" ? `[${cell.number ?? " "}]` : ""}
          </span>
          <div className="grow">
            {cell.kind === "code" ? (
              <div className={styles.code}>
                <Code label={`Code of cell ${n + 1}`} text={cell.source} language="python" />
              </div>
            ) : (
              <pre className={styles.prose}>{cell.source}</pre>
            )}
            {cell.outputs.map((output, m) => (
              <section key={m} className={styles.output} aria-label="Output" tabIndex={0}>
                <pre className={output.bad ? styles.bad : ""}>{output.text}</pre>
              </section>
            ))}
          </div>
        </section>
      ))}
    </div>
  );
}
