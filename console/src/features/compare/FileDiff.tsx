import { useQueries } from "@tanstack/react-query";
import type { Change, Pair } from "~/api/compare";
import { fileQueries } from "~/api/files";
import type { FileInfo } from "~/api/types";
import { hasText, kindOf, textOf } from "~/features/repo/files/preview/kind";
import { Preview } from "~/features/repo/files/preview/Preview";
import { within } from "~/features/repo/where";
import { bytes, shortId } from "~/lib/format";
import { useParam } from "~/lib/url";
import { Button, ButtonLink } from "~/ui/Button";
import { CodeDiff, languageOf } from "~/ui/code/Code";
import { Answer, Note } from "~/ui/Messages";
import { Facts, Panel } from "~/ui/Page";
import { Sign } from "./ChangeList";
import styles from "./Compare.module.css";
import { RowsDiff } from "./RowsDiff";

const MOST = 512_000;
const WORDS = { added: "Only in the new one", removed: "Only in the old one", modified: "" };

const infoOf = (change: Change, side: "old" | "new"): FileInfo => ({
  path: change.path,
  type: "file",
  size: (side === "old" ? change.old_size : change.new_size) ?? 0,
  hash: (side === "old" ? change.old_hash : change.new_hash) ?? "",
});

/** One file as it was and as it is. */
export function FileDiff({ pair, change }: { pair: Pair; change: Change }) {
  const { repo } = pair;
  const [raw, setRaw] = useParam("raw");
  const rows = kindOf(change.path) === "rows" && change.change === "modified";
  const side = change.change === "removed" ? "old" : "new";
  return (
    <Panel
      title={
        <span className={styles.name}>
          <Sign change={change.change} /> {change.path}
        </span>
      }
      actions={
        <>
          {rows && hasText(change.path) && (
            <Button small aria-pressed={raw !== ""} onClick={() => setRaw(raw ? "" : "1")}>
              {raw ? "Compare rows" : "Compare as text"}
            </Button>
          )}
          <ButtonLink small to={within(repo, { at: pair[side], path: change.path })}>
            Open
          </ButtonLink>
        </>
      }
    >
      <p className={styles.about}>
        {WORDS[change.change] || `${bytes(change.old_size ?? 0)} → ${bytes(change.new_size ?? 0)}`}
      </p>
      {change.change !== "modified" ? (
        <Preview repo={repo} commit={pair[side]} file={infoOf(change, side)} raw={raw !== ""} />
      ) : rows && !raw ? (
        <RowsDiff pair={pair} path={change.path} />
      ) : kindOf(change.path) === "image" ? (
        <Pictures pair={pair} change={change} />
      ) : (
        <TextDiff pair={pair} change={change} />
      )}
    </Panel>
  );
}

function Pictures({ pair, change }: { pair: Pair; change: Change }) {
  return (
    <div className={styles.pictures}>
      {(["old", "new"] as const).map((side) => (
        <figure key={side}>
          <figcaption>
            {side === "old" ? "Old" : "New"}, {bytes(infoOf(change, side).size)}
          </figcaption>
          <Preview repo={pair.repo} commit={pair[side]} file={infoOf(change, side)} raw={false} />
        </figure>
      ))}
    </div>
  );
}

/** Two versions of a file as text, side by side; of what is no text, what is known of it. */
export function TextDiff({ pair, change }: { pair: Pair; change: Change }) {
  const [old, now] = useQueries({
    queries: (["old", "new"] as const).map((side) =>
      fileQueries.bytes(pair.repo, pair[side], change.path, MOST),
    ),
  });
  const both = old?.data && now?.data ? ([old.data, now.data] as const) : undefined;
  const cut = Math.max(change.old_size ?? 0, change.new_size ?? 0) > MOST;
  const asked = {
    data: both,
    error: old?.error ?? now?.error,
    isPending: both === undefined,
    refetch: () => {
      void old?.refetch();
      void now?.refetch();
    },
  };
  return (
    <Answer of={asked}>
      {([before, after]) => {
        const texts = [textOf(before), textOf(after)];
        if (texts[0] === null || texts[1] === null) return <Bytes change={change} />;
        return (
          <>
            {cut && (
              <div className={styles.about}>
                <Note>
                  It is large: the first {bytes(MOST)} of each are compared. The command{" "}
                  <code>trunkline get</code> fetches all of it.
                </Note>
              </div>
            )}
            <CodeDiff
              old={texts[0] ?? ""}
              new={texts[1] ?? ""}
              language={languageOf(change.path)}
              labels={[`${change.path}, old`, `${change.path}, new`]}
            />
          </>
        );
      }}
    </Answer>
  );
}

function Bytes({ change }: { change: Change }) {
  const known = (size?: number | null, hash?: string | null) => (
    <>
      {bytes(size ?? 0)}
      {hash && (
        <>
          , hash <code title={hash}>{shortId(hash)}</code>
        </>
      )}
    </>
  );
  return (
    <div className={styles.about}>
      <p>It is no text, so only this can be compared:</p>
      <Facts
        facts={[
          ["Old", known(change.old_size, change.old_hash)],
          ["New", known(change.new_size, change.new_hash)],
        ]}
      />
    </div>
  );
}
