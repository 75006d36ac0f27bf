import { ScrollText } from "lucide-react";
import { useDeferredValue, useMemo } from "react";
import { isOver } from "~/api/jobs";
import type { Job } from "~/api/types";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Empty, Failure, Loading, Note } from "~/ui/Messages";
import { LogLines } from "./LogLines";
import styles from "./LogsTab.module.css";
import { LogTools } from "./LogTools";
import { matches, stepped, wanted } from "./lines";
import { MOST_LINES, useLog } from "./useLog";
import { useLogView } from "./useLogView";

/** What the job printed: to search, to narrow, to follow, to link to. */
export function LogsTab({ job }: { job: Job }) {
  const log = useLog(job);
  const [params, set] = useQueryState();
  const show = params.get("show") ?? "";
  const datum = params.get("datum") ?? "";
  const find = useDeferredValue(params.get("find") ?? "");
  const view = useLogView(job);
  const lines = useMemo(
    () => (show || datum ? log.lines.filter((line) => wanted(line, show, datum)) : log.lines),
    [log.lines, show, datum],
  );
  const found = useMemo(() => matches(lines, find), [lines, find]);
  const datums = useMemo(
    () => [...new Set(log.lines.map((line) => line.datum))].filter(Boolean),
    [log.lines],
  );
  const at = found.length > 0 ? stepped(view.match, 0, found.length) : -1;
  return (
    <div className={styles.screen}>
      <LogTools
        job={job}
        lines={lines}
        datums={datums}
        found={found.length}
        at={at}
        live={!log.done}
        view={view}
      />
      {log.error ? <Failure error={log.error} /> : null}
      {log.lines.length >= MOST_LINES && (
        <Note>
          Only the first {MOST_LINES.toLocaleString("en")} lines are shown. All of them:{" "}
          <code>trunkline job logs</code>
        </Note>
      )}
      {lines.length > 0 ? (
        <LogLines lines={lines} find={find} current={found[at]} view={view} live={!log.done} />
      ) : log.lines.length > 0 ? (
        <Empty title="No line is like that" icon={ScrollText}>
          <Button onClick={() => set({ show: null, datum: null })}>Show all lines</Button>
        </Empty>
      ) : log.done ? (
        <Empty title="It printed nothing" icon={ScrollText}>
          What the code of a pipeline prints is kept here, line by line.
        </Empty>
      ) : isOver(job) ? (
        <Loading what="Loading the log" />
      ) : (
        <Empty title="Nothing has been printed yet" icon={ScrollText}>
          Lines appear here as they come.
        </Empty>
      )}
    </div>
  );
}
