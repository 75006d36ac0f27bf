import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { commitQueries } from "~/api/commits";
import { startBackfill } from "~/api/pipelines";
import type { PipelineInfo, RepoName } from "~/api/types";
import { briefly, plural, shortId } from "~/lib/format";
import { full, parseName, ref, shown } from "~/lib/names";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input, Select } from "~/ui/Field";
import { Failure } from "~/ui/Messages";
import { say } from "~/ui/toast";

/** Jobs for past commits of an input, whose output goes to a branch apart. */
export function BackfillDialog({
  pipeline: { name, inputs },
  onClose,
}: {
  pipeline: PipelineInfo;
  onClose: () => void;
}) {
  const [input, setInput] = useState(inputs[0] ? full(inputs[0]) : "");
  const [start, setStart] = useState("");
  const [to, setTo] = useState("");
  const [branch, setBranch] = useState("");
  const repo: RepoName = parseName(input);
  const history = useInfiniteQuery({ ...commitQueries.history(repo), enabled: input !== "" });
  const commits = (history.data?.pages ?? [])
    .flatMap((page) => page.items)
    .filter((commit) => commit.finished && !commit.error);
  const choices = (end: string) => [
    { value: "", text: end },
    ...commits.map((commit) => ({
      value: commit.id,
      text: `${briefly(commit.started)} · ${commit.message || shortId(commit.id)}`,
    })),
  ];
  const whole = (id: string) => (id ? ref(repo, id) : null);
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Backfill ${shown(name)}`}
      about="One job for each past commit of an input, from the oldest to the newest. The output goes to a branch of its own, so readers of the present see nothing of it."
      action="Start the backfill"
      ready={input !== ""}
      doing={async () => {
        // An end that is named also says which input is gone through.
        const last = whole(to) ?? (start || inputs.length < 2 ? null : `${full(repo)}@main`);
        const made = await startBackfill(name, { start: whole(start), to: last, branch });
        say(
          `Backfill of ${made.span}: ${plural(made.total, "job")}, to the branch ${made.branch}.`,
        );
      }}
    >
      <div className="stack">
        <Field label="Input">
          <Select
            value={input}
            onChange={(event) => {
              setInput(event.target.value);
              setStart("");
              setTo("");
            }}
            options={inputs.map((one) => ({ value: full(one), text: shown(one) }))}
          />
        </Field>
        <Field label="From">
          <Select
            value={start}
            onChange={(event) => setStart(event.target.value)}
            options={choices("The oldest commit")}
          />
        </Field>
        <Field label="To">
          <Select
            value={to}
            onChange={(event) => setTo(event.target.value)}
            options={choices("The newest commit")}
          />
        </Field>
        <Field label="Branch of the output" hint="Without a name it gets one.">
          <Input value={branch} onChange={(event) => setBranch(event.target.value)} />
        </Field>
        {history.error && <Failure error={history.error} />}
      </div>
    </ActionDialog>
  );
}
