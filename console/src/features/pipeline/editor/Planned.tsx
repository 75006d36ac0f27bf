import { Check } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";
import { applyPipelines, type Declaration } from "~/api/pipelines";
import type { Schema } from "~/api/types";
import { paths, shown } from "~/lib/names";
import { Button } from "~/ui/Button";
import { Failure, Note } from "~/ui/Messages";
import { say } from "~/ui/toast";
import { PlanView } from "../plan/PlanView";

/** A plan, and the button that makes it come true: of what was planned, and nothing else. */
export function Planned({
  report,
  body,
  stale,
  onApplied,
}: {
  report: Schema<"PlanReport">;
  body: Declaration;
  stale: boolean;
  onApplied: (report: Schema<"ApplyReport">) => void;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const apply = async () => {
    setBusy(true);
    setError(null);
    try {
      const done = await applyPipelines(body);
      for (const one of done.applied) say(<Done of={one} />);
      onApplied(done);
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="stack">
      <PlanView report={report} />
      {error !== null && <Failure error={error} />}
      {stale && <Note>What is written was changed since. Plan again to apply it.</Note>}
      <div>
        <Button
          kind="primary"
          icon={Check}
          busy={busy}
          disabled={stale}
          onClick={() => void apply()}
        >
          Apply
        </Button>
      </div>
    </div>
  );
}

/** Its job is of now, so its link does not lead into the moment that is looked at. */
function Done({ of }: { of: Schema<"Applied"> }) {
  return (
    <>
      {shown(of.name)}, version {of.version}: {of.action}.{" "}
      {of.job && <Link to={paths.job(of.name, of.job)}>See its job</Link>}
    </>
  );
}
