import {
  CirclePause,
  CirclePlay,
  EllipsisVertical,
  History,
  Play,
  RotateCcw,
  Trash2,
} from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";
import { pausePipeline, resumePipeline, runPipeline } from "~/api/pipelines";
import type { PipelineInfo } from "~/api/types";
import { paths, shown } from "~/lib/names";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Menu } from "~/ui/Menu";
import { say } from "~/ui/toast";
import { BackfillDialog } from "./BackfillDialog";
import { DeleteDialog } from "./DeleteDialog";
import { ReprocessDialog } from "./ReprocessDialog";

type Asked = "run" | "pause" | "resume" | "backfill" | "reprocess" | "delete" | null;

/** What can be done with a pipeline. Each says what will happen before it does. */
export function Actions({ pipeline }: { pipeline: PipelineInfo }) {
  const { name, paused, kind } = pipeline;
  const [asked, setAsked] = useState<Asked>(null);
  const close = () => setAsked(null);
  const title = shown(name);
  // A job of now, so its link does not lead into the moment that is looked at.
  const started = ({ job }: { job?: string | null }, otherwise: string) =>
    say(
      job ? (
        <>
          Started <Link to={paths.job(name, job)}>a job of {title}</Link>.
        </>
      ) : (
        otherwise
      ),
    );
  const reads = pipeline.inputs.map(shown).join(", ");
  const batch = kind !== "ingest" && kind !== "stream";
  return (
    <>
      {kind !== "ingest" && (
        <Button kind="primary" icon={Play} onClick={() => setAsked("run")}>
          Run now
        </Button>
      )}
      {paused ? (
        <Button icon={CirclePlay} onClick={() => setAsked("resume")}>
          Resume
        </Button>
      ) : (
        <Button icon={CirclePause} onClick={() => setAsked("pause")}>
          Pause
        </Button>
      )}
      <Menu
        items={[
          ...(batch ? [{ text: "Backfill…", icon: History, act: () => setAsked("backfill") }] : []),
          ...(kind !== "ingest"
            ? [{ text: "Reprocess…", icon: RotateCcw, act: () => setAsked("reprocess") }, null]
            : []),
          { text: "Delete…", icon: Trash2, danger: true, act: () => setAsked("delete") },
        ]}
      >
        <Button icon={EllipsisVertical} label="More actions" />
      </Menu>
      <ActionDialog
        open={asked === "run"}
        onClose={close}
        title={`Run ${title} now?`}
        about={`A job starts at the present commits of ${reads}, and one for all that reads ${title}. Datums whose results are there already are not computed again.`}
        action="Run now"
        doing={async () => started(await runPipeline(name), "Nothing was started.")}
      />
      <ActionDialog
        open={asked === "pause"}
        onClose={close}
        title={`Pause ${title}?`}
        about="No new jobs start, and those that run are stopped. What arrives meanwhile makes one job when it is resumed."
        action="Pause"
        doing={async () => {
          await pausePipeline(name);
          say(`${title} is paused.`);
        }}
      />
      <ActionDialog
        open={asked === "resume"}
        onClose={close}
        title={`Resume ${title}?`}
        about="It runs again when its inputs change. All that it missed makes one job, which starts at once."
        action="Resume"
        doing={async () =>
          started(await resumePipeline(name), `${title} runs again. It has missed nothing.`)
        }
      />
      {asked === "backfill" && <BackfillDialog pipeline={pipeline} onClose={close} />}
      {asked === "reprocess" && <ReprocessDialog name={name} onClose={close} />}
      {asked === "delete" && <DeleteDialog name={name} onClose={close} />}
    </>
  );
}
