import { useQuery } from "@tanstack/react-query";
import { accessQueries } from "~/api/access";
import { Note } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import { Tabs } from "~/ui/Tabs";
import { AuditTab } from "./AuditTab";
import { PoolsTab } from "./PoolsTab";
import { RolesTab } from "./RolesTab";
import { SecretsTab } from "./SecretsTab";
import { SettingsTab } from "./SettingsTab";
import { TokensTab } from "./TokensTab";
import { UpkeepTab } from "./UpkeepTab";
import { UsersTab } from "./UsersTab";
import { WorkersTab } from "./WorkersTab";
import { YouTab } from "./YouTab";

const TABS = [
  { id: "you", title: "You", body: () => <YouTab /> },
  { id: "users", title: "Users", body: () => <UsersTab /> },
  { id: "roles", title: "Roles", body: () => <RolesTab /> },
  { id: "tokens", title: "Tokens", body: () => <TokensTab /> },
  { id: "audit", title: "Audit", body: () => <AuditTab /> },
  { id: "workers", title: "Workers", body: () => <WorkersTab /> },
  { id: "pools", title: "Pools", body: () => <PoolsTab /> },
  { id: "secrets", title: "Secrets", body: () => <SecretsTab /> },
  { id: "settings", title: "Settings", body: () => <SettingsTab /> },
  { id: "upkeep", title: "Upkeep", body: () => <UpkeepTab /> },
];

export default function AdminPage() {
  const ways = useQuery(accessQueries.ways());
  return (
    <Page title="Admin" about="Who may do what, who works here, and how the lake is kept.">
      {ways.data?.auth === false && (
        <Note>
          This server asks nobody who they are: whoever reaches it is the lake's owner. So it
          listens on this machine only. To ask for names and give roles, start it with{" "}
          <code>trunkline serve --auth</code>; users made here count from then on.
        </Note>
      )}
      <Tabs
        label="Parts of the administration"
        clears={["q", "sort", "who", "action", "outcome", "owner", "all"]}
        tabs={TABS}
      />
    </Page>
  );
}
