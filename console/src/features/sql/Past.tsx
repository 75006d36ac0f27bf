import { useQuery } from "@tanstack/react-query";
import { History } from "lucide-react";
import { type Asked, sqlQueries } from "~/api/sql";
import { plural, shortId } from "~/lib/format";
import { Empty } from "~/ui/Messages";
import { StateIcon } from "~/ui/State";
import { Time } from "~/ui/Time";
import { past } from "./history";
import styles from "./Sql.module.css";

/** What was asked before: in this browser, and what the server still keeps. */
export function Past({ onChoose }: { onChoose: (asked: Asked) => void }) {
  const kept = useQuery(sqlQueries.kept());
  const mine = past();
  const here = new Set(mine.map((one) => one.text));
  const elsewhere = (kept.data ?? []).filter((one) => !here.has(one.text));
  if (mine.length === 0 && elsewhere.length === 0) {
    return <Empty title="Nothing was asked yet" icon={History} />;
  }
  return (
    <ul className={styles.past} aria-label="Past queries">
      {mine.map((one) => {
        const server = kept.data?.find((query) => query.text === one.text);
        return (
          <li key={`${one.when}${one.text}`}>
            <button type="button" onClick={() => onChoose(one)}>
              <code>{one.text}</code>
              <span className="row dim">
                {server && <StateIcon state={server.state} size={13} />}
                <Time at={one.when} />
                {one.engine}
                {one.at && `as of ${shortId(one.at)}`}
                {server?.state === "done" && plural(server.rows, "row")}
              </span>
            </button>
          </li>
        );
      })}
      {elsewhere.map((one) => (
        <li key={one.id}>
          <button
            type="button"
            onClick={() => onChoose({ text: one.text, engine: one.engine, project: one.project })}
          >
            <code>{one.text}</code>
            <span className="row dim">
              <StateIcon state={one.state} size={13} />
              <Time at={one.created} /> {one.engine}, kept by the server
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}
