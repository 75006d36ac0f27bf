import { useQuery } from "@tanstack/react-query";
import { Pencil, Plus, ShieldCheck, Trash2 } from "lucide-react";
import { useState } from "react";
import { accessQueries, type Grant, revokeGrant } from "~/api/access";
import { useParam } from "~/lib/url";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { SearchBox } from "~/ui/Field";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import styles from "./Admin.module.css";
import { GrantDialog } from "./GrantDialog";
import { scopeText, scopeWords } from "./scopes";
import { useChange } from "./useChange";

/** Who may what where. */
export function RolesTab() {
  const users = useQuery(accessQueries.users());
  const change = useChange("access");
  const [text, setText] = useParam("q");
  const [giving, setGiving] = useState<Partial<Grant> | null>(null);
  const [taking, setTaking] = useState<Grant | null>(null);
  const columns: Column<Grant>[] = [
    { id: "user", title: "User", cell: (one) => one.subject, sort: (one) => one.subject },
    { id: "role", title: "Role", cell: (one) => one.role, sort: (one) => one.role },
    {
      id: "scope",
      title: "On",
      cell: (one) => scopeWords(one.scope),
      sort: (one) => one.scope,
      wide: true,
    },
    {
      id: "do",
      title: "",
      cell: (one) => {
        const what = `${one.subject} on ${scopeWords(one.scope)}`;
        return (
          <span className={styles.line}>
            <Button
              small
              kind="ghost"
              icon={Pencil}
              label={`Change the role of ${what}`}
              onClick={() => setGiving(one)}
            />
            <Button
              small
              kind="ghost"
              icon={Trash2}
              label={`Take the role of ${what}`}
              onClick={() => setTaking(one)}
            />
          </span>
        );
      },
      right: true,
    },
  ];
  const wanted = text.toLowerCase();
  return (
    <div className="stack">
      <div className="row wrap">
        <div style={{ width: 300 }}>
          <SearchBox label="Filter by user, role or scope" value={text} onChange={setText} />
        </div>
        <span className="grow" />
        <Button kind="primary" icon={Plus} onClick={() => setGiving({})}>
          Give a role
        </Button>
      </div>
      <Panel>
        <Answer of={users}>
          {(all) => (
            <List
              label="Roles"
              items={all
                .flatMap((user) => user.grants ?? [])
                .filter((one) =>
                  `${one.subject} ${one.role} ${scopeWords(one.scope)}`
                    .toLowerCase()
                    .includes(wanted),
                )}
              columns={columns}
              keyOf={(one) => `${one.subject} ${one.scope}`}
              empty={
                <Empty
                  title={text ? "No role is like this" : "Nobody has a role yet"}
                  icon={ShieldCheck}
                  command={text ? undefined : "trunkline role grant ada reader"}
                />
              }
            />
          )}
        </Answer>
      </Panel>
      {giving && (
        <GrantDialog
          user={giving.subject}
          role={giving.role}
          scope={giving.scope === undefined ? undefined : scopeText(giving.scope)}
          onClose={() => setGiving(null)}
        />
      )}
      {taking && (
        <ActionDialog
          open
          onClose={() => setTaking(null)}
          title={`Take the role ${taking.role} from ${taking.subject}?`}
          about={`On ${scopeWords(taking.scope)}. It is gone from all of their tokens at once.`}
          action="Take it"
          danger
          doing={() =>
            change(
              revokeGrant(taking.subject, scopeText(taking.scope)),
              `${taking.subject} is no longer ${taking.role} on ${scopeWords(taking.scope)}.`,
            )
          }
        />
      )}
    </div>
  );
}
