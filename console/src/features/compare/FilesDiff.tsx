import { useInfiniteQuery } from "@tanstack/react-query";
import { FileDiff as FileDiffIcon } from "lucide-react";
import { useMemo, useState } from "react";
import { type Change, compareQueries, type Pair } from "~/api/compare";
import { count, plural } from "~/lib/format";
import { useParam, useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Check, SearchBox, Select } from "~/ui/Field";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { ChangeList } from "./ChangeList";
import styles from "./Compare.module.css";
import { FileDiff } from "./FileDiff";
import { linesOf } from "./tree";

const KINDS = ["added", "removed", "modified"] as const;

function summary(changes: Change[], more: boolean): string {
  const parts = KINDS.map((kind) => [kind, changes.filter((one) => one.change === kind).length]);
  const counted = parts.filter(([, n]) => n).map(([kind, n]) => `${count(n as number)} ${kind}`);
  return `${more ? "The first: " : ""}${counted.join(", ")}`;
}

/** The files that differ between two commits, and how one of them does. */
export function FilesDiff({ pair }: { pair: Pair }) {
  const pages = useInfiniteQuery(compareQueries.files(pair));
  const all = useMemo(() => pages.data?.pages.flatMap((page) => page.items) ?? [], [pages.data]);
  return (
    <Answer of={pages}>
      {() =>
        all.length === 0 ? (
          <Empty title="Nothing differs" icon={FileDiffIcon}>
            Both commits have the same files with the same content.
          </Empty>
        ) : (
          <Files
            pair={pair}
            changes={all}
            more={pages.hasNextPage}
            busy={pages.isFetchingNextPage}
            load={() => void pages.fetchNextPage()}
          />
        )
      }
    </Answer>
  );
}

function Files(props: {
  pair: Pair;
  changes: Change[];
  more: boolean;
  busy: boolean;
  load: () => void;
}) {
  const { pair, changes, more, busy, load } = props;
  const [params, set] = useQueryState();
  const [text, setText] = useParam("find");
  const [change, setChange] = useParam("change");
  const [flat, setFlat] = useParam("flat");
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const path = params.get("path");
  const chosen = changes.find((one) => one.path === path);
  const lines = useMemo(
    () => linesOf(changes, { text, change, flat: flat !== "", closed }),
    [changes, text, change, flat, closed],
  );
  const turn = (folder: string) =>
    setClosed((now) => {
      const next = new Set(now);
      if (!next.delete(folder)) next.add(folder);
      return next;
    });
  return (
    <div className={styles.sides}>
      <Panel>
        <div className={styles.tools}>
          <SearchBox label="Filter paths" value={text} onChange={setText} />
          <div className="row wrap">
            <Select
              aria-label="Which changes"
              value={change}
              onChange={(event) => setChange(event.target.value)}
              options={[
                { value: "", text: "All changes" },
                ...KINDS.map((kind) => ({ value: kind, text: `Only ${kind}` })),
              ]}
            />
            <Check
              label="Folders"
              checked={flat === ""}
              onChange={(tree) => setFlat(tree ? "" : "1")}
            />
          </div>
          <p className="dim" role="status">
            {summary(changes, more)}
            {more && `; filters look at these ${plural(changes.length, "file")}`}
          </p>
        </div>
        {lines.length === 0 ? (
          <p className={styles.none}>No path matches.</p>
        ) : (
          <ChangeList
            lines={lines}
            chosen={path ?? ""}
            onFolder={turn}
            onFile={(one) => set({ path: one, key: null }, { push: true })}
          />
        )}
        {more && (
          <div className={styles.more}>
            <Button small busy={busy} onClick={load}>
              Show more
            </Button>
          </div>
        )}
      </Panel>
      {chosen ? (
        <FileDiff key={`${pair.old} ${pair.new} ${chosen.path}`} pair={pair} change={chosen} />
      ) : (
        <Panel>
          <Empty title={path ? "This file does not differ" : "Choose a file"} icon={FileDiffIcon}>
            {path ? path : "It is shown here as it was and as it is."}
          </Empty>
        </Panel>
      )}
    </div>
  );
}
