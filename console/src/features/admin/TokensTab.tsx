import { useQuery } from "@tanstack/react-query";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { accessQueries, revokeToken, type TokenInfo } from "~/api/access";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Check, Select } from "~/ui/Field";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import { Time } from "~/ui/Time";
import styles from "./Admin.module.css";
import { NewTokenDialog } from "./NewTokenDialog";
import { grantWords } from "./scopes";
import { isGood, stateOf, wordOf } from "./tokens";
import { useChange } from "./useChange";

/** One's own tokens; for an admin those of others too. */
export function TokensTab() {
  const tokens = useQuery(accessQueries.tokens());
  const change = useChange("access");
  const [params, set] = useQueryState();
  const [owner, all] = [params.get("owner") ?? "", params.get("all") === "1"];
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<TokenInfo | null>(null);
  const owners = [...new Set(tokens.data?.map((one) => one.owner))].filter(Boolean).sort();
  const columns: Column<TokenInfo>[] = [
    { id: "owner", title: "Owner", cell: (one) => one.owner, sort: (one) => one.owner },
    { id: "note", title: "For", cell: (one) => one.note || wordOf(one), wide: true },
    { id: "id", title: "ID", cell: (one) => <span className="mono">{one.id}</span> },
    {
      id: "limits",
      title: "May",
      cell: (one) => (
        <div className={styles.roomy}>
          {one.limits ? grantWords(one.limits) || "nothing" : "what its owner may"}
        </div>
      ),
    },
    {
      id: "state",
      title: "State",
      cell: (one) => <State state={isGood(one) ? "success" : "cancelled"} text={stateOf(one)} />,
    },
    {
      id: "expires",
      title: "Expires",
      cell: (one) => (one.expires ? <Time at={one.expires} /> : <span className="dim">never</span>),
      sort: (one) => one.expires ?? "9",
    },
    {
      id: "used",
      title: "Last used",
      cell: (one) => <Time at={one.last_used} />,
      sort: (one) => one.last_used ?? "",
    },
    {
      id: "do",
      title: "",
      cell: (one) =>
        isGood(one) && (
          <Button small onClick={() => setEnding(one)} aria-label={`Revoke token ${one.id}`}>
            Revoke
          </Button>
        ),
      right: true,
    },
  ];
  return (
    <div className="stack">
      <div className="row wrap">
        {owners.length > 1 && (
          <Select
            aria-label="Owner"
            value={owner}
            onChange={(event) => set({ owner: event.target.value })}
            options={[
              { value: "", text: "Of everybody" },
              ...owners.map((one) => ({ value: one, text: one })),
            ]}
          />
        )}
        <Check
          label="Logins, jobs and those that ended, too"
          checked={all}
          onChange={(now) => set({ all: now ? "1" : null })}
        />
        <span className="grow" />
        <Button kind="primary" icon={Plus} onClick={() => setMaking(true)}>
          New token
        </Button>
      </div>
      <Panel>
        <Answer of={tokens}>
          {(found) => (
            <List
              label="Tokens"
              items={found.filter(
                (one) =>
                  (!owner || one.owner === owner) && (all || (one.kind === "user" && isGood(one))),
              )}
              columns={columns}
              keyOf={(one) => one.id}
              empty={
                <Empty
                  title="No tokens"
                  icon={KeyRound}
                  command='trunkline token create --note "nightly load"'
                >
                  Programs and the command line log in with them.
                </Empty>
              }
            />
          )}
        </Answer>
      </Panel>
      {making && <NewTokenDialog onClose={() => setMaking(false)} />}
      {ending && (
        <ActionDialog
          open
          onClose={() => setEnding(null)}
          title="Revoke this token?"
          about={
            <span className={styles.wraps}>
              {ending.note || wordOf(ending)} of {ending.owner}. Whoever uses it is refused at once.
            </span>
          }
          action="Revoke"
          danger
          doing={() => change(revokeToken(ending.id), "Revoked the token.")}
        />
      )}
    </div>
  );
}
