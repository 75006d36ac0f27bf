import { useQuery } from "@tanstack/react-query";
import { ListChecks } from "lucide-react";
import { useMemo } from "react";
import { checkQueries } from "~/api/checks";
import { overviewQueries } from "~/api/overview";
import { useMoment } from "~/features/moment/useMoment";
import { shown as nameOf, same } from "~/lib/names";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { Asides } from "./Asides";
import { RulePanel } from "./RulePanel";
import { rulesOf } from "./rules";
import type { Shown } from "./useTable";

const EXAMPLE = `expectations:
  - {name: has_amount, not_null: amount, action: drop}
  - {name: not_negative, expr: amount >= 0, action: quarantine}
  - {name: unique_id, unique: id}`;

/** What must hold of the table, and what did not. */
export function ChecksTab({ shown }: { shown: Shown }) {
  const overview = useQuery(overviewQueries.at(undefined));
  return (
    <div className="stack">
      <Answer of={overview}>
        {({ nodes }) => {
          const node = nodes.find((one) => same(one.name, shown.place.name));
          const computed = node?.kind === "pipeline" || node?.kind === "stream";
          return computed ? <Rules shown={shown} /> : <NoRules repo={nameOf(shown.place.name)} />;
        }}
      </Answer>
      <Asides shown={shown} />
    </div>
  );
}

function Rules({ shown: { place, info } }: { shown: Shown }) {
  const moment = useMoment();
  const types = useMemo(() => new Map(info.columns.map((one) => [one.name, one.type])), [info]);
  const checks = useQuery(checkQueries.of(place.name));
  return (
    <Answer of={checks}>
      {(records) => {
        const rules = rulesOf(records, place.path, moment);
        if (rules.length === 0) return <NoRules pipeline />;
        return rules.map((rule) => (
          <RulePanel key={rule.name} name={place.name} rule={rule} types={types} />
        ));
      }}
    </Answer>
  );
}

function NoRules({ repo, pipeline }: { repo?: string; pipeline?: boolean }) {
  return (
    <Panel>
      <Empty title="No checks" icon={ListChecks} command={pipeline ? EXAMPLE : undefined}>
        {pipeline
          ? "Rules in the pipeline's spec are checked before anyone reads its rows:"
          : `Nothing computes ${repo}: rules belong to the pipeline that makes a table.`}
      </Empty>
    </Panel>
  );
}
