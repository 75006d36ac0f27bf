import { useQuery } from "@tanstack/react-query";
import { ShieldCheck } from "lucide-react";
import { useMemo } from "react";
import { jobQueries } from "~/api/jobs";
import type { CheckRecord, Job } from "~/api/types";
import { sampleOf } from "~/features/table/rules";
import { count } from "~/lib/format";
import { DataGrid } from "~/ui/DataGrid";
import { Answer, Empty } from "~/ui/Messages";
import { Facts, Panel } from "~/ui/Page";
import { State } from "~/ui/State";

const LINE = 28;
const HEAD = 44;
const EXAMPLE = "expectations:\n  - {name: not_negative, expr: amount >= 0, action: quarantine}";

/** What became of each rule in this job, with rows that broke it. */
export function ChecksTab({ job }: { job: Job }) {
  const checks = useQuery(jobQueries.checks(job.pipeline, job.id));
  return (
    <Answer of={checks}>
      {(all) =>
        all.length > 0 ? (
          <div className="stack">
            {all.map((one) => (
              <Rule key={`${one.result.table} ${one.result.name}`} record={one} />
            ))}
          </div>
        ) : (
          <Empty title="This job checked nothing" icon={ShieldCheck} command={EXAMPLE}>
            Rules in a pipeline's file say what must hold before anyone reads its output.
          </Empty>
        )
      }
    </Answer>
  );
}

function Rule({ record: { result } }: { record: CheckRecord }) {
  const samples = useMemo(() => sampleOf(result.samples ?? []), [result.samples]);
  return (
    <Panel title={result.name} actions={<State state={result.state} />} padded>
      <div className="stack">
        <Facts
          facts={[
            ["Says", result.said],
            ["Kind", `${result.kind}, ${result.action} if broken`],
            ["Table", result.table],
            ["Rows", count(result.rows ?? 0)],
            ["Broken", count(result.broken ?? 0)],
          ]}
        />
        {samples.rows.length > 0 && (
          <>
            <h3>Rows that broke it</h3>
            <div
              style={{
                height: HEAD + samples.rows.length * LINE + 16,
                border: "1px solid var(--line)",
              }}
            >
              <DataGrid
                label={`Rows that broke ${result.name}`}
                columns={samples.columns}
                count={samples.rows.length}
                row={(n) => samples.rows[n]}
              />
            </div>
          </>
        )}
      </div>
    </Panel>
  );
}
