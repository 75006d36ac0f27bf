import { Pause, Play } from "lucide-react";
import { useState } from "react";
import { pauseFlow, resumeFlow } from "~/api/flows";
import type { RepoName } from "~/api/types";
import { shown } from "~/lib/names";
import { Button } from "~/ui/Button";
import { attempt } from "~/ui/toast";

/** Stops and starts a stream or an ingest. How far it has read is kept. */
export function PauseButton({
  name,
  paused,
  onDone,
}: {
  name: RepoName;
  paused: boolean;
  onDone: () => Promise<unknown>;
}) {
  const [busy, setBusy] = useState(false);
  const turn = async () => {
    setBusy(true);
    const done = paused
      ? await attempt(resumeFlow(name), `${shown(name)} goes on.`)
      : await attempt(pauseFlow(name), `${shown(name)} is paused. How far it has read is kept.`);
    if (done) await onDone();
    setBusy(false);
  };
  return (
    <Button icon={paused ? Play : Pause} busy={busy} onClick={() => void turn()}>
      {paused ? "Resume" : "Pause"}
    </Button>
  );
}
