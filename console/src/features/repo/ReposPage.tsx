import { useQuery } from "@tanstack/react-query";
import { Database, Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { overviewQueries } from "~/api/overview";
import { repoQueries } from "~/api/repos";
import type { Repo } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { bytes, count } from "~/lib/format";
import { full, shown } from "~/lib/names";
import { useParam } from "~/lib/url";
import { Button } from "~/ui/Button";
import { SearchBox, Select } from "~/ui/Field";
import { RepoLink } from "~/ui/Link";
import { type Column, List } from "~/ui/List";
import { Answer, Empty } from "~/ui/Messages";
import { Page, Panel } from "~/ui/Page";
import { Time } from "~/ui/Time";
import styles from "./Repo.module.css";

const NewRepoDialog = lazy(() => import("./NewRepoDialog"));

const KINDS: Record<string, string> = {
  user: "source",
  output: "pipeline output",
  cron: "schedule",
  system: "code",
  ingest: "ingest",
};

interface Shown extends Repo {
  what: string;
  changed: string | undefined;
}

const COLUMNS: Column<Shown>[] = [
  {
    id: "name",
    title: "Repo",
    cell: (r) => <RepoLink name={r.name} />,
    sort: (r) => shown(r.name),
  },
  { id: "kind", title: "Kind", cell: (r) => <span className={styles.kind}>{r.what}</span> },
  { id: "about", title: "Description", cell: (r) => r.description, wide: true },
  { id: "branches", title: "Branches", cell: (r) => count(r.branches.length), right: true },
  { id: "files", title: "Files", cell: (r) => count(r.files), sort: (r) => r.files, right: true },
  { id: "size", title: "Size", cell: (r) => bytes(r.size), sort: (r) => r.size, right: true },
  {
    id: "changed",
    title: "Last commit",
    cell: (r) => <Time at={r.changed} />,
    sort: (r) => r.changed ?? "",
  },
];

/** The repos with what the lake's overview knows of them; at a past moment, those of then. */
function useRepos() {
  const moment = useMoment();
  const repos = useQuery(repoQueries.list());
  const overview = useQuery(overviewQueries.at(moment));
  const nodes = new Map(overview.data?.nodes.map((node) => [full(node.name), node]));
  const wait = moment !== undefined && overview.data === undefined;
  const all = repos.data?.flatMap((repo): Shown[] => {
    const node = nodes.get(full(repo.name));
    const then = moment ? { files: node?.head?.files ?? 0, size: node?.head?.size ?? 0 } : {};
    if (moment && !node) return [];
    const what = KINDS[node?.kind ?? ""] ?? KINDS[repo.kind] ?? repo.kind;
    return [{ ...repo, ...then, what, changed: node?.head?.at ?? undefined }];
  });
  return { ...repos, data: wait ? undefined : all, error: repos.error ?? overview.error };
}

export default function ReposPage() {
  const repos = useRepos();
  const [text, setText] = useParam("q");
  const [project, setProject] = useParam("project");
  const [making, setMaking] = useState(false);
  const projects = [...new Set(repos.data?.map((repo) => repo.name.project))].sort();
  const wanted = text.toLowerCase();
  return (
    <Page
      title="Repos"
      about="Files and tables, with every version of them."
      actions={
        <Button kind="primary" icon={Plus} onClick={() => setMaking(true)}>
          New repo
        </Button>
      }
    >
      <div className="row wrap">
        <div className={styles.find}>
          <SearchBox label="Filter repos" value={text} onChange={setText} />
        </div>
        {(projects.length > 1 || project) && (
          <Select
            aria-label="Project"
            value={project}
            onChange={(event) => setProject(event.target.value)}
            options={[
              { value: "", text: "All projects" },
              ...projects.map((one) => ({ value: one, text: one })),
            ]}
          />
        )}
      </div>
      <Panel>
        <Answer of={repos}>
          {(all) => (
            <List
              label="Repos"
              items={all.filter(
                (repo) =>
                  (!project || repo.name.project === project) &&
                  `${shown(repo.name)} ${repo.description}`.toLowerCase().includes(wanted),
              )}
              columns={COLUMNS}
              keyOf={(repo) => full(repo.name)}
              empty={
                all.length > 0 ? (
                  <Empty title="No repo matches">Change the filter to see others.</Empty>
                ) : (
                  <Empty
                    title="No repos yet"
                    icon={Database}
                    command="trunkline repo create orders"
                  >
                    A repo holds files and tables, like a Git repository.
                  </Empty>
                )
              }
            />
          )}
        </Answer>
      </Panel>
      {making && (
        <Suspense fallback={null}>
          <NewRepoDialog onClose={() => setMaking(false)} />
        </Suspense>
      )}
    </Page>
  );
}
