import { ChevronDown, ChevronUp, Download } from "lucide-react";
import type { KeyboardEvent } from "react";
import type { Job } from "~/api/types";
import { count, plural, shortId } from "~/lib/format";
import { save } from "~/lib/save";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Check, SearchBox, Select } from "~/ui/Field";
import styles from "./LogsTab.module.css";
import { asText, type Numbered, stepped } from "./lines";
import type { LogView } from "./useLogView";

interface Props {
  job: Job;
  /** Those that are shown. */
  lines: Numbered[];
  datums: string[];
  found: number;
  at: number;
  live: boolean;
  view: LogView;
}

const KINDS = [
  { value: "", text: "All lines" },
  { value: "out", text: "stdout" },
  { value: "err", text: "stderr" },
  { value: "note", text: "Trunkline's notes" },
  { value: "warn", text: "Warnings and errors" },
  { value: "error", text: "Errors" },
];
/** More datums than this are chosen in the list of datums. */
const MOST_DATUMS = 500;

/** What can be done with the log. */
export function LogTools({ job, lines, datums, found, at, live, view }: Props) {
  const [params, set] = useQueryState();
  const find = params.get("find") ?? "";
  const datum = params.get("datum") ?? "";
  const step = (by: number) => {
    view.setFollow(false);
    view.setMatch(stepped(Math.max(0, at), by, found));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    step(event.shiftKey ? -1 : 1);
  };
  const known = datum && !datums.includes(datum) ? [datum, ...datums] : datums;
  return (
    <div className={styles.tools}>
      <div className={styles.find}>
        <SearchBox
          label="Find in the log"
          value={find}
          onChange={(text) => {
            view.setMatch(0);
            if (text) view.setFollow(false);
            set({ find: text });
          }}
          onKeyDown={press}
        />
      </div>
      <span className={styles.count} role="status">
        {find && (found > 0 ? `${count(at + 1)} of ${plural(found, "line")}` : "not found")}
      </span>
      <Button
        small
        icon={ChevronUp}
        label="Previous (Shift Enter)"
        disabled={found === 0}
        onClick={() => step(-1)}
      />
      <Button
        small
        icon={ChevronDown}
        label="Next (Enter)"
        disabled={found === 0}
        onClick={() => step(1)}
      />
      <Select
        aria-label="Kind of lines"
        value={params.get("show") ?? ""}
        onChange={(event) => set({ show: event.target.value })}
        options={KINDS}
      />
      {known.length > 0 && (
        <Select
          aria-label="Datum"
          value={datum}
          onChange={(event) => set({ datum: event.target.value })}
          options={[
            { value: "", text: "All datums" },
            ...known.slice(0, MOST_DATUMS).map((value) => ({ value, text: shortId(value) })),
          ]}
        />
      )}
      <Check label="Wrap" checked={view.wrap} onChange={view.setWrap} />
      {live && <Check label="Follow" checked={view.follow} onChange={view.setFollow} />}
      <span className="grow" />
      <span className="dim">{plural(lines.length, "line")}</span>
      <Button
        small
        icon={Download}
        disabled={lines.length === 0}
        onClick={() =>
          save(
            new Blob([asText(lines)], { type: "text/plain" }),
            `${job.pipeline.repo}-${shortId(job.id)}.log`,
          )
        }
      >
        Download
      </Button>
    </div>
  );
}
