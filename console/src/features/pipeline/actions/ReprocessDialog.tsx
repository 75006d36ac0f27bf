import { useQuery } from "@tanstack/react-query";
import { key } from "~/api/keys";
import { applyPipelines, pipelineQueries, planOf, readSpec } from "~/api/pipelines";
import type { RepoName } from "~/api/types";
import { shown } from "~/lib/names";
import { ActionDialog } from "~/ui/Dialog";
import { Answer } from "~/ui/Messages";
import { say } from "~/ui/toast";
import { PlanView } from "../plan/PlanView";

/** Computes everything again: the same spec and code as a new version that uses no old result. */
export function ReprocessDialog({ name, onClose }: { name: RepoName; onClose: () => void }) {
  const text = useQuery(pipelineQueries.text(name));
  const plan = useQuery({
    queryKey: key("pipelines", name, "reprocess", text.data),
    enabled: text.data !== undefined,
    gcTime: 0,
    queryFn: async () => {
      const { text: spec, files } = text.data!;
      const body = { ...(await readSpec(spec, files, name.project)), reprocess: true };
      return { body, report: await planOf(body) };
    },
  });
  return (
    <ActionDialog
      open
      wide
      onClose={onClose}
      title={`Reprocess ${shown(name)}?`}
      about="It gets a new version with the same spec and code, and every datum is computed again. Earlier results stay in the history."
      action="Reprocess"
      ready={plan.data !== undefined}
      doing={async () => {
        await applyPipelines(plan.data!.body);
        say(`${shown(name)} computes everything again.`);
      }}
    >
      <Answer of={{ ...plan, error: text.error ?? plan.error }}>
        {({ report }) => <PlanView report={report} />}
      </Answer>
    </ActionDialog>
  );
}
