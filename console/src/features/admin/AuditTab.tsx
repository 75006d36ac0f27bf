import { useInfiniteQuery } from "@tanstack/react-query";
import { RefreshCw, ScrollText } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { type AuditEntry, accessQueries } from "~/api/access";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { Input, Select } from "~/ui/Field";
import { Answer, Empty } from "~/ui/Messages";
import { moreOf } from "~/ui/More";
import { Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import { Time } from "~/ui/Time";
import { type SizedColumn, VirtualTable } from "~/ui/VirtualTable";
import styles from "./Admin.module.css";

const OUTCOMES: Record<string, string> = {
  ok: "success",
  refused: "unrunnable",
  failed: "failure",
};
const PAUSE = 300;

const COLUMNS: SizedColumn<AuditEntry>[] = [
  { id: "at", title: "When", cell: (one) => <Time at={one.at} />, width: 110 },
  { id: "who", title: "Who", cell: (one) => <Cut text={one.who} />, width: 150 },
  { id: "action", title: "Action", cell: (one) => <Cut text={one.action} mono /> },
  { id: "target", title: "Target", cell: (one) => <Cut text={one.target} /> },
  {
    id: "outcome",
    title: "Outcome",
    cell: (one) => <State state={OUTCOMES[one.outcome] ?? "idle"} text={one.outcome} />,
    width: 110,
  },
  { id: "from", title: "From", cell: (one) => <Cut text={one.address ?? ""} />, width: 130 },
  { id: "detail", title: "Detail", cell: (one) => <Cut text={one.detail ?? ""} />, width: 160 },
];

/** Everything that changed something, and everything that was refused, newest first. */
export function AuditTab() {
  const [params, set] = useQueryState();
  const given = (name: string) => params.get(name) || undefined;
  const filter = { who: given("who"), action: given("action"), outcome: given("outcome") };
  const target = params.get("q") ?? "";
  const audit = useInfiniteQuery(accessQueries.audit(filter));
  const entries = useMemo(
    () =>
      audit.data?.pages
        .flatMap((page) => page.items)
        .filter((one) => one.target.toLowerCase().includes(target.toLowerCase())),
    [audit.data, target],
  );
  const more = moreOf(audit);
  const filtered = ["who", "action", "outcome", "q"].some((name) => params.has(name));
  return (
    <div className="stack">
      <div className="row wrap">
        <div className={`${styles.filters} grow`}>
          <Typed label="User" value={filter.who} onChange={(who) => set({ who })} />
          <Typed label="Action" value={filter.action} onChange={(action) => set({ action })} />
          <Typed label="Target contains" value={target} onChange={(q) => set({ q })} />
          <Select
            aria-label="Outcome"
            value={filter.outcome ?? ""}
            onChange={(event) => set({ outcome: event.target.value })}
            options={[
              { value: "", text: "Every outcome" },
              ...Object.keys(OUTCOMES).map((one) => ({ value: one, text: one })),
            ]}
          />
        </div>
        <Button icon={RefreshCw} busy={audit.isRefetching} onClick={() => void audit.refetch()}>
          Refresh
        </Button>
      </div>
      <Panel>
        <Answer of={{ ...audit, data: entries }}>
          {(found) =>
            found.length === 0 && !more ? (
              <Empty title={filtered ? "Nothing is like this" : "Nothing yet"} icon={ScrollText}>
                What changes something, and what is refused, is written down here.
              </Empty>
            ) : (
              <div className={styles.audit}>
                <VirtualTable
                  label="Audit log"
                  items={found}
                  columns={COLUMNS}
                  keyOf={(one) => String(one.position)}
                  more={more}
                />
              </div>
            )
          }
        </Answer>
      </Panel>
    </div>
  );
}

const Cut = ({ text, mono }: { text: string; mono?: boolean }) => (
  <div className={`clip ${mono ? "mono" : ""}`} title={text}>
    {text}
  </div>
);

/** A filter that is asked for once one stops typing. */
function Typed({
  label,
  value = "",
  onChange,
}: {
  label: string;
  value?: string;
  onChange: (text: string) => void;
}) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <Input
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  );
}
