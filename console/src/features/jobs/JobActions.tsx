import { Ban, RotateCcw } from "lucide-react";
import { useState } from "react";
import { useNavigate } from "react-router";
import { cancelJob, isOver, rerunSet } from "~/api/jobs";
import type { Job } from "~/api/types";
import { shortId } from "~/lib/format";
import { paths, shown } from "~/lib/names";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Field, Input } from "~/ui/Field";
import { say } from "~/ui/toast";

/** Jobs that can be tried again: those that failed or were stopped. */
const AGAIN = ["failure", "killed", "unrunnable"];

/** Stopping a job that is not over, and trying again what failed. */
export function JobActions({ job, small }: { job: Job; small?: boolean }) {
  return (
    <>
      {!isOver(job) && <CancelButton job={job} small={small} />}
      {AGAIN.includes(job.state) && <RerunButton set={job.id} small={small} />}
    </>
  );
}

function CancelButton({ job, small }: { job: Job; small?: boolean }) {
  const [asking, setAsking] = useState(false);
  const [reason, setReason] = useState("");
  return (
    <>
      <Button small={small} kind="danger" icon={Ban} onClick={() => setAsking(true)}>
        Cancel job
      </Button>
      <ActionDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={`Cancel the job of ${shown(job.pipeline)}?`}
        about="What it has done is dropped. All of its set that waits for it does not run either."
        action="Cancel job"
        danger
        doing={async () => {
          await cancelJob(job.pipeline, job.id, reason);
          say(`The job of ${shown(job.pipeline)} was cancelled.`);
        }}
      >
        <Field label="Why (optional)">
          <Input value={reason} onChange={(event) => setReason(event.target.value)} />
        </Field>
      </ActionDialog>
    </>
  );
}

/** Tries again what failed in a set, and goes to the new one. */
export function RerunButton({ set, small }: { set: string; small?: boolean }) {
  const [asking, setAsking] = useState(false);
  const navigate = useNavigate();
  return (
    <>
      <Button small={small} icon={RotateCcw} onClick={() => setAsking(true)}>
        Try again
      </Button>
      <ActionDialog
        open={asking}
        onClose={() => setAsking(false)}
        title={`Try again what failed in the set ${shortId(set)}?`}
        about="It runs on the newest data, as a new set, and so does all that waits for it."
        action="Try again"
        doing={async () => {
          const { job } = await rerunSet(set);
          if (!job) return;
          say(`Started the set ${shortId(job)}.`);
          // The new set is of now, whatever moment was looked at.
          void navigate(paths.set(job));
        }}
      />
    </>
  );
}
