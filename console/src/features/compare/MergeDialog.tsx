import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { compareQueries, type MergeReport, type MergeWish, merge, type Side } from "~/api/compare";
import { repoQueries } from "~/api/repos";
import type { RepoName } from "~/api/types";
import { within } from "~/features/repo/where";
import { shortId } from "~/lib/format";
import { shown } from "~/lib/names";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Field, Input, Select } from "~/ui/Field";
import { Link } from "~/ui/Link";
import { Answer, Failure, Note } from "~/ui/Messages";
import { Conflicts } from "./Conflicts";
import { Outcome } from "./Outcome";

interface Props {
  repo: RepoName;
  source: string;
  target?: string;
  onClose: () => void;
}

/** The heads of both branches now, and as they were when they were looked at. */
function useHeads(repo: RepoName, source: string, target: string) {
  const branches = useQuery(repoQueries.branches(repo));
  const [seen, setSeen] = useState<(string | null)[]>();
  const heads = branches.data && [source, target].map((name) => headOf(branches.data, name));
  // The first answer is what is looked at, until one looks again.
  if (heads && !seen) setSeen(heads);
  return {
    branches: branches.data?.map((one) => one.name) ?? [],
    heads: seen,
    moved: Boolean(heads && seen && String(heads) !== String(seen)),
    look: () => setSeen(undefined),
    refetch: branches.refetch,
  };
}

const headOf = (branches: { name: string; head: string | null }[], name: string) =>
  branches.find((one) => one.name === name)?.head ?? null;

/** Brings a branch's changes into another: what it would do first, and then it. */
export function MergeDialog({ repo, source, target: first = "main", onClose }: Props) {
  const client = useQueryClient();
  const [target, setTarget] = useState(first === source ? "" : first);
  const [strategy, setStrategy] = useState<Side | null>(null);
  const [choices, setChoices] = useState<Record<string, Side>>({});
  const [message, setMessage] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [done, setDone] = useState<MergeReport>();
  const { branches, heads, moved, look, refetch } = useHeads(repo, source, target);
  const wish: MergeWish = { source, target, strategy, choices };
  const plan = useQuery({
    ...compareQueries.merge(repo, wish, heads ?? []),
    enabled: target !== "" && heads !== undefined && !done,
  });
  const undecided = plan.data?.conflicts.filter((one) => !one.chosen).length ?? 0;
  const nothing = plan.data && plan.data.changes.length + plan.data.conflicts.length === 0;
  const current = !plan.isPlaceholderData && !plan.isFetching && !plan.error;

  const lookAgain = async () => {
    setError(null);
    await refetch();
    look();
    void client.invalidateQueries({ queryKey: ["fixed", `${repo.project}/${repo.repo}`, "merge"] });
  };
  const act = async () => {
    setBusy(true);
    setError(null);
    try {
      setDone(await merge(repo, wish, { message }));
      void client.invalidateQueries({ queryKey: ["commits"] });
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  const title = `Merge ${source} into ${target || "a branch"} of ${shown(repo)}`;
  if (done)
    return (
      <Dialog open onClose={onClose} title={title} foot={<Button onClick={onClose}>Close</Button>}>
        <Merged repo={repo} report={done} />
      </Dialog>
    );
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={title}
      about="What happened on the one since the two parted is brought to the other, as one commit."
      foot={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            kind="primary"
            busy={busy}
            disabled={!plan.data || !current || moved || undecided > 0 || nothing}
            onClick={() => void act()}
          >
            Merge
          </Button>
        </>
      }
    >
      <Field label="Into the branch">
        <Select
          value={target}
          onChange={(event) => {
            setTarget(event.target.value);
            setChoices({});
            setError(null);
            look();
          }}
          options={[
            ...(target === "" ? [{ value: "", text: "Choose a branch" }] : []),
            ...branches.filter((one) => one !== source).map((one) => ({ value: one, text: one })),
          ]}
        />
      </Field>
      {target !== "" && (
        <Answer of={plan.error ? { ...plan, data: undefined } : plan}>
          {(report) => (
            <>
              <Outcome report={report} source={source} target={target} />
              {report.conflicts.length > 0 && (
                <Conflicts
                  repo={repo}
                  report={report}
                  heads={heads ?? []}
                  strategy={strategy}
                  choices={choices}
                  onStrategy={setStrategy}
                  onChoose={(path, side) => setChoices((now) => ({ ...now, [path]: side }))}
                />
              )}
              {!nothing && (
                <Field label="Message">
                  <Input
                    value={message}
                    placeholder={`Merge ${source} into ${target}`}
                    onChange={(event) => setMessage(event.target.value)}
                  />
                </Field>
              )}
            </>
          )}
        </Answer>
      )}
      {moved && (
        <Note>
          One of the branches has moved since. This is what would have been.{" "}
          <Button small onClick={() => void lookAgain()}>
            Look again
          </Button>
        </Note>
      )}
      {error !== null && (
        <>
          <Failure error={error} />
          {!moved && (
            <div>
              <Button small onClick={() => void lookAgain()}>
                Look again
              </Button>
            </div>
          )}
        </>
      )}
    </Dialog>
  );
}

function Merged({
  repo,
  report: { commit, source, target },
}: {
  repo: RepoName;
  report: MergeReport;
}) {
  if (!commit) return <p>Nothing was left to merge.</p>;
  return (
    <p role="status">
      Merged {source} into {target}: commit{" "}
      <Link to={within(repo, { tab: "history", commit: commit.id })}>
        <code>{shortId(commit.id)}</code>
      </Link>
      , “{commit.message}”.
    </p>
  );
}
