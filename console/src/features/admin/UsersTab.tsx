import { useQuery } from "@tanstack/react-query";
import {
  Ban,
  CircleCheck,
  Ellipsis,
  KeyRound,
  Plus,
  ShieldCheck,
  Trash2,
  Users,
} from "lucide-react";
import { useState } from "react";
import { accessQueries, deleteUser, setDisabled, type User } from "~/api/access";
import { useParam } from "~/lib/url";
import { Button } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { SearchBox } from "~/ui/Field";
import { type Column, List } from "~/ui/List";
import { Menu } from "~/ui/Menu";
import { Answer, Empty } from "~/ui/Messages";
import { Panel } from "~/ui/Page";
import { State } from "~/ui/State";
import { Time } from "~/ui/Time";
import { attempt } from "~/ui/toast";
import styles from "./Admin.module.css";
import { GrantDialog } from "./GrantDialog";
import { NewUserDialog } from "./NewUserDialog";
import { PasswordDialog } from "./PasswordDialog";
import { grantWords } from "./scopes";
import { useChange } from "./useChange";

type Doing = { what: "password" | "role" | "delete"; user: User };

export function UsersTab() {
  const users = useQuery(accessQueries.users());
  const change = useChange("access");
  const [text, setText] = useParam("q");
  const [making, setMaking] = useState(false);
  const [doing, setDoing] = useState<Doing | null>(null);
  const close = () => setDoing(null);
  const columns: Column<User>[] = [
    {
      id: "name",
      title: "Name",
      cell: (user) => <span className={styles.wraps}>{user.name}</span>,
      sort: (user) => user.name,
    },
    { id: "email", title: "E-mail", cell: (user) => user.email },
    { id: "roles", title: "Roles", cell: (user) => <Roles user={user} />, wide: true },
    {
      id: "state",
      title: "State",
      cell: (user) => (
        <State
          state={user.disabled ? "cancelled" : "success"}
          text={user.disabled ? "deactivated" : "active"}
        />
      ),
      sort: (user) => String(user.disabled),
    },
    {
      id: "password",
      title: "Password",
      cell: (user) => (user.has_password ? "set" : <span className="dim">none</span>),
    },
    {
      id: "made",
      title: "Made",
      cell: (user) => <Time at={user.created} />,
      sort: (user) => user.created,
    },
    {
      id: "do",
      title: "",
      cell: (user) => (
        <Menu
          items={[
            {
              text: "Give a role…",
              icon: ShieldCheck,
              act: () => setDoing({ what: "role", user }),
            },
            {
              text: "Set the password…",
              icon: KeyRound,
              act: () => setDoing({ what: "password", user }),
            },
            {
              text: user.disabled ? "Activate" : "Deactivate",
              icon: user.disabled ? CircleCheck : Ban,
              act: () =>
                void attempt(
                  change(
                    setDisabled(user.name, !user.disabled),
                    `${user.name} is ${user.disabled ? "active" : "deactivated"}.`,
                  ),
                ),
            },
            null,
            {
              text: "Delete…",
              icon: Trash2,
              danger: true,
              act: () => setDoing({ what: "delete", user }),
            },
          ]}
        >
          <Button small kind="ghost" icon={Ellipsis} label={`Actions for ${user.name}`} />
        </Menu>
      ),
      right: true,
    },
  ];
  const wanted = text.toLowerCase();
  return (
    <div className="stack">
      <div className="row wrap">
        <div style={{ width: 300 }}>
          <SearchBox label="Filter users" value={text} onChange={setText} />
        </div>
        <span className="grow" />
        <Button kind="primary" icon={Plus} onClick={() => setMaking(true)}>
          New user
        </Button>
      </div>
      <Panel>
        <Answer of={users}>
          {(all) => (
            <List
              label="Users"
              items={all.filter((one) => `${one.name} ${one.email}`.toLowerCase().includes(wanted))}
              columns={columns}
              keyOf={(user) => user.name}
              empty={
                <Empty
                  title={all.length > 0 ? "No user is called so" : "No users yet"}
                  icon={Users}
                  command={all.length > 0 ? undefined : "trunkline user create ada"}
                />
              }
            />
          )}
        </Answer>
      </Panel>
      {making && <NewUserDialog onClose={() => setMaking(false)} />}
      {doing?.what === "password" && <PasswordDialog name={doing.user.name} onClose={close} />}
      {doing?.what === "role" && <GrantDialog user={doing.user.name} onClose={close} />}
      {doing?.what === "delete" && (
        <ActionDialog
          open
          onClose={close}
          title={`Delete ${doing.user.name}?`}
          about="Their logins and tokens end at once. What they committed stays."
          action="Delete"
          danger
          doing={() => change(deleteUser(doing.user.name), `Deleted ${doing.user.name}.`)}
        />
      )}
    </div>
  );
}

const Roles = ({ user }: { user: User }) =>
  user.grants?.length ? grantWords(user.grants) : <span className="dim">none yet</span>;
