import { type InfiniteData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { statusQueries } from "~/api/status";
import type { Schema } from "~/api/types";
import { useMoment } from "~/features/moment/useMoment";
import { bytes, compact, count } from "~/lib/format";
import { Stat } from "~/ui/Page";
import styles from "./Home.module.css";
import { isFlow, jobsSince, morningOf, type Node } from "./troubles";

type Pages = InfiniteData<Schema<"Page_SetSummary_">>;

/** The lake in numbers; at a past moment those that are known of it. */
export function Figures({ nodes, sets }: { nodes: Node[]; sets: Pages | undefined }) {
  const moment = useMoment();
  const status = useQuery(statusQueries.status());
  const then = useMemo(() => {
    const heads = nodes.flatMap((node) => node.head ?? []);
    return {
      files: heads.reduce((sum, head) => sum + head.files, 0),
      size: heads.reduce((sum, head) => sum + head.size, 0),
    };
  }, [nodes]);
  const flows = nodes.filter(isFlow).length;
  const pipelines = nodes.filter((node) => node.version !== null).length - flows;
  const { files, size } = moment || !status.data ? then : status.data;
  return (
    <section className={styles.figures} aria-label="Figures">
      <Stat value={count(nodes.length)} name={nodes.length === 1 ? "repo" : "repos"} />
      <Stat value={count(pipelines)} name={pipelines === 1 ? "pipeline" : "pipelines"} />
      <Stat value={count(flows)} name="streams and ingests" />
      <Stat value={compact(files)} name="files" />
      <Stat value={bytes(size)} name="of data" />
      {!moment && status.data && <Stat value={compact(status.data.commits)} name="commits" />}
      {!moment && sets && <Today sets={sets} />}
    </section>
  );
}

function Today({ sets }: { sets: Pages }) {
  const all = sets.pages.flatMap((page) => page.items);
  const { jobs, atLeast } = jobsSince(all, morningOf(Date.now()), !sets.pages.at(-1)?.next);
  return <Stat value={`${count(jobs)}${atLeast ? "+" : ""}`} name="jobs today" />;
}
