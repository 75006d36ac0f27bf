import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { remove } from "~/api/files";
import type { FileInfo, RepoName } from "~/api/types";
import { full, shown } from "~/lib/names";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input } from "~/ui/Field";
import { say } from "~/ui/toast";
import { nameOf } from "../where";

interface Props {
  repo: RepoName;
  branch: string;
  file: FileInfo;
  onDeleted: () => void;
  onClose: () => void;
}

/** Removes a file or folder from a branch, in a commit that can be reverted. */
export default function DeleteDialog({ repo, branch, file, onDeleted, onClose }: Props) {
  const client = useQueryClient();
  const usual = `Delete ${file.path.slice(1)}`;
  const [message, setMessage] = useState("");
  const act = async () => {
    await remove(repo, branch, file.path, message.trim() || usual);
    say(`Deleted ${file.path} from ${shown(repo)}@${branch}.`);
    onDeleted();
    await client.invalidateQueries({ queryKey: ["commits", full(repo)] });
  };
  const what = file.type === "folder" ? "the folder with all that is in it" : "the file";
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Delete ${nameOf(file.path)}?`}
      about={`A new commit on ${branch} removes ${what}. Earlier commits keep it.`}
      action="Delete"
      danger
      doing={act}
    >
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
