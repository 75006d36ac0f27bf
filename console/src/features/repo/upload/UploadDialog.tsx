import { useQueryClient } from "@tanstack/react-query";
import { RotateCw, X } from "lucide-react";
import { useEffect, useState, useSyncExternalStore } from "react";
import { asApiError } from "~/api/errors";
import type { RepoName } from "~/api/types";
import { bytes, plural } from "~/lib/format";
import { full, shown } from "~/lib/names";
import { Button } from "~/ui/Button";
import { Dialog } from "~/ui/Dialog";
import { Field, Input } from "~/ui/Field";
import { Failure } from "~/ui/Messages";
import { say } from "~/ui/toast";
import { join } from "../where";
import type { Chosen } from "./dropped";
import styles from "./Upload.module.css";
import { type Item, Upload } from "./upload";

const SHOWN = 200;
const URGENT = { failed: 0, sending: 1, waiting: 2, done: 3 };

interface Props {
  repo: RepoName;
  branch: string;
  folder: string;
  chosen: Chosen[];
  onClose: () => void;
}

/** Uploads files as one commit, and shows how far it is. */
export default function UploadDialog({ repo, branch, folder, chosen, onClose }: Props) {
  const client = useQueryClient();
  const [upload] = useState(
    () =>
      new Upload(
        repo,
        branch,
        chosen.map(({ name, file }) => ({ path: join(folder, name), file })),
      ),
  );
  useSyncExternalStore(upload.subscribe, upload.snapshot);
  const only = upload.items[0]?.path.slice(1) ?? "";
  const usual =
    upload.items.length === 1 ? `Upload ${only}` : `Upload ${upload.items.length} files`;
  const [message, setMessage] = useState("");
  const { phase, commit } = upload;
  useEffect(() => {
    if (phase !== "done" || !commit) return;
    say(`Committed ${plural(upload.items.length, "file")} to ${shown(repo)}@${branch}.`);
    void client.invalidateQueries({ queryKey: ["commits", full(repo)] });
    void client.invalidateQueries({ queryKey: ["repos"] });
    onClose();
  }, [phase, commit, upload, repo, branch, client, onClose]);
  // Whoever leaves the screen does not want a commit that they do not see.
  useEffect(
    () => () => {
      if (upload.phase === "sending" || upload.phase === "stuck") upload.cancel();
    },
    [upload],
  );
  const close = () => {
    if (upload.phase === "committing") return;
    upload.cancel();
    onClose();
  };
  const busy = phase === "sending" || phase === "committing";
  const startable = (phase === "ready" || phase === "failed") && upload.items.length > 0;
  const start = () => void upload.start(message.trim() || usual);
  return (
    <Dialog
      open
      onClose={close}
      onEnter={startable ? start : undefined}
      title={`Upload to ${shown(repo)}@${branch}`}
      about={`${plural(upload.items.length, "file")}, ${bytes(upload.size)}, into ${folder}, as one commit`}
      foot={
        <>
          <Button onClick={close} disabled={phase === "committing"}>
            Cancel
          </Button>
          {phase === "stuck" ? (
            <Button kind="primary" icon={RotateCw} onClick={() => upload.retry()}>
              Send the failed ones again
            </Button>
          ) : (
            <Button kind="primary" busy={busy} disabled={upload.items.length === 0} onClick={start}>
              {phase === "failed" ? "Try again" : phase === "committing" ? "Committing" : "Upload"}
            </Button>
          )}
        </>
      }
    >
      <Field label="Commit message">
        <Input
          value={message}
          placeholder={usual}
          disabled={busy}
          onChange={(event) => setMessage(event.target.value)}
        />
      </Field>
      {phase !== "ready" && (
        <div className="row">
          <progress
            className={styles.bar}
            max={Math.max(1, upload.size)}
            value={upload.size === 0 ? 1 : upload.sent}
            aria-label="All files"
          />
          <span className="num dim">
            {bytes(upload.sent)} of {bytes(upload.size)}
          </span>
        </div>
      )}
      <Items upload={upload} />
      {upload.error !== null && <Failure error={upload.error} />}
    </Dialog>
  );
}

function Items({ upload }: { upload: Upload }) {
  const order = [...upload.items].sort((a, b) => URGENT[a.state] - URGENT[b.state]);
  const rest = order.length - SHOWN;
  return (
    <ul className={styles.items} aria-label="Files to upload" tabIndex={0}>
      {order.slice(0, SHOWN).map((item) => (
        <Line key={item.path} item={item} upload={upload} />
      ))}
      {rest > 0 && <li className="dim">and {plural(rest, "more file")}</li>}
    </ul>
  );
}

function Line({ item, upload }: { item: Item; upload: Upload }) {
  const begun = item.state === "sending" || item.state === "done";
  const loose = upload.phase === "ready" || item.state === "failed";
  return (
    <li className={styles.item}>
      <div className="row">
        <span className="grow clip" title={item.path}>
          {item.path}
        </span>
        {begun && (
          <progress
            className={styles.small}
            max={Math.max(1, item.file.size)}
            value={item.state === "done" ? Math.max(1, item.file.size) : item.sent}
            aria-label={item.path}
          />
        )}
        <span className="num dim">{bytes(item.file.size)}</span>
        {item.state === "failed" && (
          <Button small icon={RotateCw} onClick={() => upload.retry(item)}>
            Retry
          </Button>
        )}
        {loose && (
          <Button
            small
            kind="ghost"
            icon={X}
            label={`Leave out ${item.path}`}
            onClick={() => upload.leave(item)}
          />
        )}
      </div>
      {item.state === "failed" && <p className={styles.bad}>{asApiError(item.error).message}</p>}
    </li>
  );
}
