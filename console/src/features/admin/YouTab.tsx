import { useQuery } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { accessQueries } from "~/api/access";
import { Button, ButtonLink } from "~/ui/Button";
import { Answer } from "~/ui/Messages";
import { Facts, Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import { PasswordDialog } from "./PasswordDialog";
import { grantWords, isAdmin } from "./scopes";

const KINDS: Record<string, string> = {
  local: "as the owner of the lake's folder",
  session: "logged in with this browser",
  user: "by a token",
};

/** Who one is here, and what one may do. */
export function YouTab() {
  const who = useQuery(accessQueries.whoami());
  const [changing, setChanging] = useState(false);
  return (
    <Answer of={who}>
      {({ name, kind, grants, limits, expires }) => (
        <Panel
          title={name}
          padded
          actions={
            kind === "session" && (
              <>
                <Button small icon={KeyRound} onClick={() => setChanging(true)}>
                  Change my password
                </Button>
                <ButtonLink small to="/admin?tab=tokens">
                  My tokens
                </ButtonLink>
              </>
            )
          }
        >
          <Facts
            facts={[
              ["You are here", KINDS[kind] ?? kind],
              ["You are", grantWords(grants) || "nothing yet: ask an admin for a role"],
              ["Narrowed to", limits ? grantWords(limits) : undefined],
              ["Until", expires ? <Time key="until" at={expires} /> : undefined],
            ]}
          />
          {changing && (
            <PasswordDialog
              name={name}
              asksCurrent={!isAdmin(grants, limits)}
              onClose={() => setChanging(false)}
            />
          )}
        </Panel>
      )}
    </Answer>
  );
}
