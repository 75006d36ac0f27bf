import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { commitQueries, revert } from "~/api/commits";
import { repoQueries } from "~/api/repos";
import type { Commit, RepoName } from "~/api/types";
import { shortId } from "~/lib/format";
import { full } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input, Select } from "~/ui/Field";
import { say } from "~/ui/toast";

/** Undoes a commit with a new one. */
export function RevertDialog(props: { repo: RepoName; commit: Commit; onClose: () => void }) {
  const { repo, commit, onClose } = props;
  const branches = useQuery(repoQueries.branches(repo));
  const client = useQueryClient();
  const [, set] = useQueryState();
  const usual = `Revert "${commit.message}"`;
  const names = branches.data?.map((one) => one.name) ?? [commit.branch];
  const [branch, setBranch] = useState(names.includes(commit.branch) ? commit.branch : names[0]!);
  const [message, setMessage] = useState("");
  const act = async () => {
    const made = await revert(repo, commit.id, branch, message.trim() || usual);
    say(`Reverted ${shortId(commit.id)} on ${branch}.`);
    client.setQueryData(commitQueries.one(repo, made.id).queryKey, made);
    void client.invalidateQueries({ queryKey: ["commits", full(repo)] });
    set({ commit: made.id }, { push: true });
  };
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Revert ${shortId(commit.id)}?`}
      about="A new commit undoes what this one changed. Nothing is lost."
      action="Revert"
      doing={act}
    >
      <Field label="Branch">
        <Select
          value={branch}
          onChange={(event) => setBranch(event.target.value)}
          options={names.map((name) => ({ value: name, text: name }))}
        />
      </Field>
      <Field label="Commit message">
        <Input
          value={message}
          placeholder={usual}
          onChange={(event) => setMessage(event.target.value)}
        />
      </Field>
    </ActionDialog>
  );
}
