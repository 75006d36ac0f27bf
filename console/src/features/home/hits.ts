/** What a search found: what it is called, how it looks, and where it is shown. */
import {
  Activity,
  Boxes,
  Columns3,
  Database,
  Download,
  File,
  GitBranch,
  GitCommitHorizontal,
  type LucideIcon,
  Table2,
  Tag,
  Waves,
} from "lucide-react";
import type { Hit } from "~/api/search";
import { within } from "~/features/repo/where";
import { tablePath } from "~/features/table/place";
import { shortId } from "~/lib/format";
import { paths, shown } from "~/lib/names";

interface Look {
  many: string;
  icon: LucideIcon;
  to: (hit: Hit) => string;
}

const table = ({ repo, path, column }: Hit) =>
  tablePath({ name: repo, path: path ?? "/" }, column ? { tab: "schema", column } : {});

/** By kind, in the order in which they are shown. */
export const LOOKS: Record<string, Look> = {
  repo: { many: "Repos", icon: Database, to: (hit) => paths.repo(hit.repo) },
  pipeline: { many: "Pipelines", icon: Boxes, to: (hit) => paths.pipeline(hit.repo) },
  stream: { many: "Streams", icon: Waves, to: (hit) => paths.stream(hit.repo) },
  ingest: { many: "Ingests", icon: Download, to: (hit) => paths.stream(hit.repo) },
  table: { many: "Tables", icon: Table2, to: table },
  column: { many: "Columns", icon: Columns3, to: table },
  branch: { many: "Branches", icon: GitBranch, to: (hit) => within(hit.repo, { at: hit.text }) },
  tag: { many: "Tags", icon: Tag, to: (hit) => within(hit.repo, { at: hit.text }) },
  commit: {
    many: "Commits",
    icon: GitCommitHorizontal,
    to: (hit) => within(hit.repo, { tab: "history", commit: hit.commit }),
  },
  job: { many: "Jobs", icon: Activity, to: (hit) => paths.job(hit.repo, hit.commit ?? hit.text) },
  file: { many: "Files", icon: File, to: (hit) => within(hit.repo, { path: hit.path }) },
};

const NAMED = ["repo", "pipeline", "stream", "ingest"];
const ID = /^[0-9a-f]{32}$/;

/** The line in a list: what fits, and in which repo. */
export function lineOf(hit: Hit): { text: string; where: string } {
  const text = ID.test(hit.text) ? shortId(hit.text) : hit.text;
  const name = shown(hit.repo);
  const inside = NAMED.includes(hit.kind) || name === text ? "" : name;
  return { text, where: [inside, hit.detail].filter(Boolean).join(" · ") };
}

/** The hits of each kind together, the kind of the best hit first. */
export function byKind(hits: Hit[]): [kind: string, hits: Hit[]][] {
  const groups = new Map<string, Hit[]>();
  for (const hit of hits) {
    if (!(hit.kind in LOOKS)) continue;
    groups.set(hit.kind, [...(groups.get(hit.kind) ?? []), hit]);
  }
  return [...groups];
}
