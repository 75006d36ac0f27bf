import type { InfiniteData } from "@tanstack/react-query";
import type { Schema } from "~/api/types";
import { outcomeOf, type SetSummary, titleOf } from "~/features/moment/moments";
import { plural } from "~/lib/format";
import { full, paths, shown } from "~/lib/names";
import { useParam } from "~/lib/url";
import { Check } from "~/ui/Field";
import { Link, RepoLink } from "~/ui/Link";
import { Answer } from "~/ui/Messages";
import { StateIcon } from "~/ui/State";
import { Time } from "~/ui/Time";
import styles from "./Home.module.css";
import { Shelf } from "./Shelf";
import { changesOf, isFlow, type Node } from "./troubles";

type Pages = InfiniteData<Schema<"Page_SetSummary_">>;

const SHOWN = 12;
const NAMES = 6;
const STATES = { good: "success", bad: "failure", busy: "running", calm: "idle" } as const;

/** The latest changes with what became of them. */
export function Changes({
  query,
  nodes,
  moment,
}: {
  query: { data: Pages | undefined; error: unknown; isPending: boolean; refetch: () => unknown };
  nodes: Node[];
  moment: string | undefined;
}) {
  const [which, setWhich] = useParam("changes");
  const flows = nodes.filter(isFlow).map((node) => full(node.name));
  const hidden = which === "all" ? [] : flows;
  return (
    <Answer of={query}>
      {({ pages }) => {
        const sets = pages.flatMap((page) => page.items);
        const found = changesOf(sets, moment, new Set(hidden));
        return (
          <Shelf
            title="Changes"
            items={found.slice(0, SHOWN)}
            most={SHOWN}
            uncounted
            calm={
              sets.length > 0
                ? "Only streams and ingests made commits lately."
                : "Nothing was committed yet."
            }
            more={
              flows.length > 0 && (
                <Check
                  label="Those of streams too"
                  checked={which === "all"}
                  onChange={(all) => setWhich(all ? "all" : "")}
                />
              )
            }
          >
            {(set) => <Change key={set.id} set={set} />}
          </Shelf>
        );
      }}
    </Answer>
  );
}

function Change({ set }: { set: SetSummary }) {
  const jobs = Object.values(set.jobs).reduce((sum, n) => sum + n, 0);
  const rest = set.repos.length - NAMES;
  return (
    <li className={styles.item}>
      <StateIcon state={STATES[outcomeOf(set)]} />
      <div className={styles.body}>
        <Link to={paths.set(set.id)}>{titleOf(set)}</Link>{" "}
        <span className="dim">by {set.author}</span>
        <div className={styles.names}>
          {set.repos.slice(0, NAMES).map((name) => (
            <RepoLink key={full(name)} name={name}>
              {shown(name)}
            </RepoLink>
          ))}
          {rest > 0 && <span className="dim">and {rest} more</span>}
        </div>
      </div>
      <div className={styles.side}>
        <Time at={set.at} />
        {jobs > 0 && <span>{plural(jobs, "job")}</span>}
      </div>
    </li>
  );
}
