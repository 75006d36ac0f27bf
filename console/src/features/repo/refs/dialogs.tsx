/** Branches and tags: made, moved and deleted. */
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { createBranch, createTag, deleteBranch, deleteTag, moveBranch } from "~/api/repos";
import type { Branch, RepoName } from "~/api/types";
import { full } from "~/lib/names";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input } from "~/ui/Field";
import { say } from "~/ui/toast";
import { RefPicker } from "../RefPicker";

interface Common {
  repo: RepoName;
  onClose: () => void;
}

/** Does something and has the repo looked at again. */
function useDone(repo: RepoName): (doing: Promise<unknown>, said: string) => Promise<void> {
  const client = useQueryClient();
  return async (doing, said) => {
    await doing;
    say(said);
    void client.invalidateQueries({ queryKey: ["commits", full(repo)] });
    void client.invalidateQueries({ queryKey: ["repos"] });
  };
}

function Start(props: {
  repo: RepoName;
  value: string;
  onChange: (at: string) => void;
  label: string;
}) {
  return (
    <div className="stack" style={{ gap: 4, alignItems: "flex-start" }}>
      <span className="dim">{props.label}</span>
      <RefPicker {...props} />
    </div>
  );
}

export function NewBranchDialog({ repo, start = "main", onClose }: Common & { start?: string }) {
  const done = useDone(repo);
  const [name, setName] = useState("");
  const [from, setFrom] = useState(start);
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="New branch"
      about="A branch costs nothing: no data is copied."
      action="Create"
      ready={name.trim() !== ""}
      doing={() => done(createBranch(repo, name.trim(), from), `Made the branch ${name.trim()}.`)}
    >
      <Field label="Name">
        <Input value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Start repo={repo} value={from} onChange={setFrom} label="From" />
    </ActionDialog>
  );
}

export function NewTagDialog({ repo, start = "main", onClose }: Common & { start?: string }) {
  const done = useDone(repo);
  const [name, setName] = useState("");
  const [message, setMessage] = useState("");
  const [from, setFrom] = useState(start);
  const make = () => createTag(repo, name.trim(), from, message.trim());
  return (
    <ActionDialog
      open
      onClose={onClose}
      title="New tag"
      about="A tag never moves: it names one commit for good."
      action="Create"
      ready={name.trim() !== ""}
      doing={() => done(make(), `Made the tag ${name.trim()}.`)}
    >
      <Field label="Name">
        <Input value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Field label="Message">
        <Input value={message} onChange={(event) => setMessage(event.target.value)} />
      </Field>
      <Start repo={repo} value={from} onChange={setFrom} label="Commit" />
    </ActionDialog>
  );
}

export function MoveBranchDialog({ repo, branch, onClose }: Common & { branch: Branch }) {
  const done = useDone(repo);
  const [to, setTo] = useState(branch.head ?? "main");
  const move = () => moveBranch(repo, branch.name, to, branch.head);
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Move ${branch.name}`}
      about="The branch points at another commit. Commits that only it had are no longer on it."
      action="Move"
      danger
      ready={to !== branch.head}
      doing={() => done(move(), `Moved ${branch.name}.`)}
    >
      <Start repo={repo} value={to} onChange={setTo} label="To" />
    </ActionDialog>
  );
}

function DeleteDialog(props: {
  onClose: () => void;
  what: string;
  about: ReactNode;
  doing: () => Promise<unknown>;
}) {
  return (
    <ActionDialog
      open
      onClose={props.onClose}
      title={`Delete ${props.what}?`}
      about={props.about}
      action="Delete"
      danger
      doing={props.doing}
    />
  );
}

export function DeleteBranchDialog({ repo, name, onClose }: Common & { name: string }) {
  const done = useDone(repo);
  return (
    <DeleteDialog
      onClose={onClose}
      what={`the branch ${name}`}
      about="Commits that only this branch has can then be cleaned up."
      doing={() => done(deleteBranch(repo, name), `Deleted the branch ${name}.`)}
    />
  );
}

export function DeleteTagDialog({ repo, name, onClose }: Common & { name: string }) {
  const done = useDone(repo);
  return (
    <DeleteDialog
      onClose={onClose}
      what={`the tag ${name}`}
      about="Its commit stays."
      doing={() => done(deleteTag(repo, name), `Deleted the tag ${name}.`)}
    />
  );
}
