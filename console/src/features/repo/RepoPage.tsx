import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, Network, Trash2, Workflow } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useNavigate, useParams } from "react-router";
import { deleteRepo, repoQueries } from "~/api/repos";
import type { Repo, RepoName } from "~/api/types";
import { plural } from "~/lib/format";
import { paths, ref, shown } from "~/lib/names";
import { Button, ButtonLink } from "~/ui/Button";
import { ActionDialog } from "~/ui/Dialog";
import { Menu } from "~/ui/Menu";
import { Failure, Loading } from "~/ui/Messages";
import { Page } from "~/ui/Page";
import { Tabs } from "~/ui/Tabs";
import { FilesTab } from "./files/FilesTab";
import { HistoryTab } from "./history/HistoryTab";
import { RefsTab } from "./refs/RefsTab";
import { TablesTab } from "./TablesTab";
import { useWhere } from "./where";

const CompareTab = lazy(() =>
  import("~/features/compare/CompareTab").then((found) => ({ default: found.CompareTab })),
);

/** What of the query belongs to one tab. */
const CLEARED = [
  "path",
  "view",
  "commit",
  "scope",
  "old",
  "new",
  "sort",
  "find",
  "change",
  "flat",
  "raw",
  "key",
  "onesided",
];

export default function RepoPage() {
  const { project = "", repo = "" } = useParams();
  const name = { project, repo };
  const found = useQuery(repoQueries.one(name));
  const crumbs = [{ to: "/repos", text: "Repos" }];
  return (
    <Page
      title={shown(name)}
      crumbs={crumbs}
      about={found.data && <About repo={found.data} />}
      actions={found.data && <Actions repo={found.data} />}
    >
      {found.error && !found.data ? (
        <Failure error={found.error} retry={() => void found.refetch()} />
      ) : (
        <Tabs
          label="Repo"
          clears={CLEARED}
          tabs={[
            {
              id: "files",
              title: "Files",
              body: () => <FilesTab repo={name} kind={found.data?.kind} />,
            },
            { id: "history", title: "History", body: () => <HistoryTab repo={name} /> },
            { id: "refs", title: "Branches & tags", body: () => <RefsTab repo={name} /> },
            {
              id: "compare",
              title: "Compare",
              body: () => (
                <Suspense fallback={<Loading />}>
                  <CompareTab repo={name} />
                </Suspense>
              ),
            },
            { id: "tables", title: "Tables", body: () => <TablesTab repo={name} /> },
          ]}
        />
      )}
    </Page>
  );
}

function About({ repo }: { repo: Repo }) {
  const made = {
    user: "",
    output: "Made by a pipeline. ",
    cron: "Ticks of a schedule. ",
    system: "",
  };
  return (
    <>
      {made[repo.kind]}
      {repo.description ||
        (repo.kind === "user" ? plural(repo.branches.length, "branch", "branches") : "")}
    </>
  );
}

function Actions({ repo }: { repo: Repo }) {
  const { at } = useWhere(repo.name);
  const [deleting, setDeleting] = useState(false);
  return (
    <>
      {repo.kind === "output" && (
        <ButtonLink to={paths.pipeline(repo.name)} icon={Workflow}>
          Pipeline
        </ButtonLink>
      )}
      <ButtonLink to={paths.lineage(ref(repo.name, at ?? "main"))} icon={Network}>
        Lineage
      </ButtonLink>
      {repo.kind === "user" && (
        <Menu
          items={[
            { text: "Delete the repo…", icon: Trash2, danger: true, act: () => setDeleting(true) },
          ]}
        >
          <Button icon={Ellipsis} label="More actions" />
        </Menu>
      )}
      {deleting && <DeleteRepo name={repo.name} onClose={() => setDeleting(false)} />}
    </>
  );
}

function DeleteRepo({ name, onClose }: { name: RepoName; onClose: () => void }) {
  const go = useNavigate();
  const client = useQueryClient();
  return (
    <ActionDialog
      open
      onClose={onClose}
      title={`Delete ${shown(name)}?`}
      about="All of its commits go with it. This cannot be undone."
      action="Delete"
      danger
      doing={async () => {
        await deleteRepo(name);
        // First away: what is on the screen would be asked for again, and is no more.
        await go("/repos");
        void client.invalidateQueries({ queryKey: ["repos", ""] });
      }}
    />
  );
}
