import { useQuery } from "@tanstack/react-query";
import { ArrowLeftRight, ArrowRight, GitCompare, Link2 } from "lucide-react";
import { commitQueries } from "~/api/commits";
import type { Pair } from "~/api/compare";
import { repoQueries } from "~/api/repos";
import type { RepoName } from "~/api/types";
import { useAt } from "~/features/moment/useMoment";
import { RefPicker } from "~/features/repo/RefPicker";
import { within } from "~/features/repo/where";
import { shown } from "~/lib/names";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import { copy } from "~/ui/copy";
import { Empty, Failure, Loading } from "~/ui/Messages";
import { Tabs } from "~/ui/Tabs";
import styles from "./Compare.module.css";
import { FilesDiff } from "./FilesDiff";
import { TablesDiff } from "./TablesDiff";

/** What differs between two commits of a repo. */
export function CompareTab({ repo }: { repo: RepoName }) {
  const [params, set] = useQueryState();
  const asked = params.get("old");
  const now = useAt(repo, "new");
  const branches = useQuery(repoQueries.branches(repo));
  const onBranch = branches.data?.some((one) => one.name === now) && now !== "main";
  const old = asked ?? (onBranch ? "main" : `${now}~1`);
  const known = typeof now === "string" && (asked !== null || branches.data !== undefined);
  if (now === null) return <Empty title="There was nothing here then" icon={GitCompare} />;
  if (!known) return <Loading />;
  const choose = (values: { old?: string; new?: string }) =>
    set({ old, new: now, path: null, key: null, ...values }, { push: true });
  return (
    <div className="stack">
      <div className="row wrap">
        <RefPicker repo={repo} value={old} onChange={(at) => choose({ old: at })} label="Old" />
        <ArrowRight size={15} aria-hidden />
        <RefPicker repo={repo} value={now} onChange={(at) => choose({ new: at })} label="New" />
        <Button icon={ArrowLeftRight} onClick={() => choose({ old: now, new: old })}>
          Swap
        </Button>
        <Permalink repo={repo} old={old} now={now} />
      </div>
      <Compared repo={repo} old={old} now={now} guessed={asked === null} />
    </div>
  );
}

interface Refs {
  repo: RepoName;
  old: string;
  now: string;
}

function Permalink({ repo, old, now }: Refs) {
  const [params] = useQueryState();
  const before = useQuery(commitQueries.resolve(repo, old)).data;
  const after = useQuery(commitQueries.resolve(repo, now)).data;
  if (!before || !after) return null;
  const copyAddress = () => {
    const kept = ["view", "path", "key"].map((name) => [name, params.get(name)]);
    const place = { ...Object.fromEntries(kept), tab: "compare", old: before, new: after };
    const address = new URL(within(repo, place), window.location.origin).href;
    void copy(address, "Copied the permalink.");
  };
  return (
    <Button icon={Link2} onClick={copyAddress}>
      Copy permalink
    </Button>
  );
}

function Compared({ repo, old, now, guessed }: Refs & { guessed: boolean }) {
  const before = useQuery(commitQueries.resolve(repo, old));
  const after = useQuery(commitQueries.resolve(repo, now));
  for (const [side, at] of [
    [after, now],
    [before, old],
  ] as const) {
    if (side.data === undefined && side.error) {
      // Nobody asked for what is before the first commit.
      if (side === before && guessed)
        return (
          <Empty title={`There is nothing before ${now} to compare it with`} icon={GitCompare}>
            Choose another branch, tag or commit above.
          </Empty>
        );
      return <Failure error={side.error} retry={() => void side.refetch()} />;
    }
    if (side.data === undefined) return <Loading />;
    if (side.data === null)
      return (
        <Empty
          title={`${at} has no commit yet`}
          icon={GitCompare}
          command={`trunkline put ${shown(repo)}@${at}:/file.csv file.csv`}
        />
      );
  }
  if (!before.data || !after.data) return null;
  const pair: Pair = { repo, old: before.data, new: after.data };
  if (pair.old === pair.new)
    return (
      <Empty title="Nothing differs" icon={GitCompare}>
        {old} and {now} are the same commit.
      </Empty>
    );
  return (
    <div className={styles.parts}>
      <Tabs
        name="view"
        label="What to compare"
        clears={["path", "key"]}
        tabs={[
          { id: "files", title: "Files", body: () => <FilesDiff pair={pair} /> },
          { id: "tables", title: "Tables", body: () => <TablesDiff pair={pair} /> },
        ]}
      />
    </div>
  );
}
