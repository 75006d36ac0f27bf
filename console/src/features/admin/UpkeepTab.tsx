import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import {
  collect,
  examine,
  type FsckReport,
  type GcReport,
  statusQueries,
  tryStore,
} from "~/api/status";
import { bytes, count, plural } from "~/lib/format";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Check } from "~/ui/Field";
import { List } from "~/ui/List";
import { Answer, Failure } from "~/ui/Messages";
import { Facts, Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import { attempt } from "~/ui/toast";
import styles from "./Admin.module.css";
import { useChange } from "./useChange";

export function UpkeepTab() {
  return (
    <div className="stack">
      <Storage />
      <div className={styles.halves}>
        <Collect />
        <Examine />
      </div>
    </div>
  );
}

function Storage() {
  const status = useQuery(statusQueries.status());
  const [busy, setBusy] = useState(false);
  const check = async () => {
    setBusy(true);
    await attempt(tryStore(), "The store can be written, read, listed and cleared.");
    setBusy(false);
  };
  return (
    <Panel
      title="Storage"
      padded
      actions={
        <Button small busy={busy} onClick={() => void check()}>
          Try the store
        </Button>
      }
    >
      <Answer of={status}>
        {(found) => (
          <Facts
            facts={[
              ["Lake", found.location],
              ["Catalog", found.catalog],
              ["Store", found.store],
              ["Holds", `${plural(found.files, "file")}, ${bytes(found.size)}`],
              ["Repos", `${count(found.repos)} in ${plural(found.projects, "project")}`],
              ["Commits", count(found.commits)],
              [
                "Open commits",
                found.open_commits.length > 0
                  ? found.open_commits.map((one) => `${one.repo}@${one.branch}`).join(", ")
                  : "none",
              ],
            ]}
          />
        )}
      </Answer>
    </Panel>
  );
}

/** Asks something that takes a while, and keeps what was said last. */
function useAsking<T>() {
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<T | null>(null);
  const [error, setError] = useState<unknown>(null);
  const ask = async (asking: Promise<T>) => {
    setBusy(true);
    setError(null);
    try {
      setAnswer(await asking);
    } catch (refused) {
      setAnswer(null);
      setError(refused);
    } finally {
      setBusy(false);
    }
  };
  return { busy, answer, setAnswer, ask, refusal: error !== null && <Failure error={error} /> };
}

function Collect() {
  const { busy, answer, setAnswer, ask, refusal } = useAsking<GcReport>();
  const change = useChange("status");
  const [sure, setSure] = useState(false);
  return (
    <Panel title="Collect garbage" padded>
      <div className="stack">
        <p>Removes what no branch, tag or commit needs. It is safe while others work.</p>
        <div className="row">
          <Button busy={busy} onClick={() => void ask(collect(true))}>
            See what would go
          </Button>
          <Button kind="danger" onClick={() => setSure(true)}>
            Collect…
          </Button>
        </div>
        {refusal}
        {answer && (
          <div role="status">
            <Facts
              facts={[
                [
                  answer.dry_run ? "Would remove" : "Removed",
                  `${plural(answer.objects, "object")} (${bytes(answer.bytes)}) of ${plural(answer.commits, "commit")}`,
                ],
                ["Kept", plural(answer.kept_objects, "object")],
                [
                  "Too young",
                  answer.waiting_commits > 0 ? plural(answer.waiting_commits, "commit") : undefined,
                ],
              ]}
            />
          </div>
        )}
      </div>
      {sure && (
        <ActionDialog
          open
          onClose={() => setSure(false)}
          title="Collect garbage now?"
          about="What nothing needs is deleted from the store for good."
          action="Collect"
          danger
          doing={async () => setAnswer(await change(collect(false), "Collected."))}
        />
      )}
    </Panel>
  );
}

function Examine() {
  const { busy, answer, ask, refusal } = useAsking<FsckReport>();
  const [deep, setDeep] = useState(false);
  return (
    <Panel title="Check the lake" padded>
      <div className="stack">
        <p>Checks that everything the lake promises holds.</p>
        <Check label="Deeply: read and hash every byte" checked={deep} onChange={setDeep} />
        <div className="row">
          <Button busy={busy} onClick={() => void ask(examine(deep))}>
            Check
          </Button>
        </div>
        {refusal}
        {answer && <Findings report={answer} />}
      </div>
    </Panel>
  );
}

function Findings({ report }: { report: FsckReport }) {
  const { problems = [], commits = 0, files = 0, objects = 0, bytes: size = 0 } = report;
  return (
    <div role="status" className="stack">
      <div className="row">
        {problems.length === 0 ? (
          <State state="success" text="no problems" />
        ) : (
          <State state="failure" text={plural(problems.length, "problem")} />
        )}
        <span className="dim">
          {plural(commits, "commit")}, {plural(files, "file")}, {plural(objects, "object")},{" "}
          {bytes(size)}
        </span>
      </div>
      {problems.length > 0 && (
        <List
          label="Problems"
          items={problems}
          keyOf={(one) => `${one.kind} ${one.where} ${one.message}`}
          columns={[
            { id: "kind", title: "Kind", cell: (one) => one.kind },
            { id: "where", title: "Where", cell: (one) => one.where },
            { id: "message", title: "What", cell: (one) => one.message, wide: true },
          ]}
        />
      )}
    </div>
  );
}
