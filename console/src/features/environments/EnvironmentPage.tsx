import { useQuery } from "@tanstack/react-query";
import { GitMerge, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { useParams } from "react-router";
import { type EnvironmentStatus, environmentQueries, type Place } from "~/api/environments";
import { useMoment } from "~/features/moment/useMoment";
import { DEFAULT_PROJECT } from "~/lib/names";
import { Button } from "~/ui/Button";
import { Answer, Note } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import { Tabs } from "~/ui/Tabs";
import { Time } from "~/ui/Time";
import { DeleteDialog } from "./DeleteDialog";
import { DiffTab } from "./DiffTab";
import { MergeDialog } from "./MergeDialog";
import { StatusTab } from "./StatusTab";
import { SyncDialog } from "./SyncDialog";
import { hasOwn, isBehind, summary } from "./words";

export default function EnvironmentPage() {
  const { project = "", environment = "" } = useParams();
  const place: Place = { project, environment };
  // While it is being deleted nobody asks how it is.
  const [goes, setGoes] = useState(false);
  const status = useQuery({ ...environmentQueries.one(place), enabled: !goes });
  const moment = useMoment();
  return (
    <Page
      title={environment}
      crumbs={[{ to: "/environments", text: "Environments" }]}
      about={status.data && <About status={status.data} />}
      actions={status.data && <Actions place={place} status={status.data} onGoes={setGoes} />}
    >
      {moment && <Note>An environment is shown as it is now, not as of the moment.</Note>}
      <Answer of={status}>
        {(found) => (
          <Tabs
            label="Parts of the environment"
            clears={["sort", "bsort"]}
            tabs={[
              { id: "status", title: "Status", body: () => <StatusTab status={found} /> },
              {
                id: "diff",
                title: "Differences",
                body: () => <DiffTab place={place} status={found} />,
              },
            ]}
          />
        )}
      </Answer>
    </Page>
  );
}

function About({ status }: { status: EnvironmentStatus }) {
  const { author, created, project } = status.environment;
  return (
    <>
      {summary(status)}{" "}
      <span className="dim">
        Made <Time at={created} /> by {author}
        {project !== DEFAULT_PROJECT && `, in the project ${project}`}.
      </span>
    </>
  );
}

function Actions({
  place,
  status,
  onGoes,
}: {
  place: Place;
  status: EnvironmentStatus;
  onGoes: (goes: boolean) => void;
}) {
  const [doing, setDoing] = useState<"merge" | "sync" | "delete" | null>(null);
  const { base } = status.environment;
  const own = { place, status, onClose: () => setDoing(null) };
  return (
    <>
      <Button icon={Trash2} onClick={() => setDoing("delete")}>
        Delete
      </Button>
      <Button icon={RefreshCw} disabled={!isBehind(status)} onClick={() => setDoing("sync")}>
        Sync with {base}
      </Button>
      <Button
        kind="primary"
        icon={GitMerge}
        disabled={!hasOwn(status)}
        onClick={() => setDoing("merge")}
      >
        Merge into {base}
      </Button>
      {doing === "merge" && <MergeDialog {...own} />}
      {doing === "sync" && <SyncDialog {...own} />}
      {doing === "delete" && <DeleteDialog {...own} onGoes={onGoes} />}
    </>
  );
}
