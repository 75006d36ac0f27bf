/** What the API says briefly about jobs, in words that need no explanation. */
import type { Job } from "~/api/types";
import { count, plural } from "~/lib/format";

const CAUSES: [RegExp, (found: string[]) => string][] = [
  [/^(.+)@main got [0-9a-f]+$/, ([repo]) => `New data in ${repo}`],
  [/^(.+)@(.+) got [0-9a-f]+$/, ([repo, branch]) => `New data in ${repo} (${branch})`],
  [/^commit on (.+)$/, ([stream]) => `New batch of ${stream}`],
  [/^(.+)@(.+) moved$/, ([repo, branch]) => `The trigger ${branch} of ${repo} fired`],
  [/^(.+)@(.+) was moved to .+$/, ([repo, branch]) => `${branch} of ${repo} was moved`],
  [/^(.+) was rewound to (.+)$/, ([stream, commit]) => `${stream} was rewound to ${commit}`],
  [/^rerun of (.+)$/, ([set]) => `Another try of ${set}`],
  [/^schedule (.+)$/, ([name]) => `Schedule ${name}`],
  [/^tick by hand$/, () => "Schedule ticked by hand"],
  [/^run by hand$/, () => "Run by hand"],
  [/^applied$/, () => "Pipeline applied"],
  [/^resumed$/, () => "Pipeline resumed"],
  [/^restarted$/, () => "Stream restarted"],
  [/^interval$/, () => "Stream's interval"],
  [/^backfill$/, () => "Backfill"],
  [/^replay of (.+)$/, ([rule]) => `Quarantine of ${rule} replayed`],
  [/^replay$/, () => "Quarantine replayed"],
];

/** Why a job is there. What is not known is said as the API says it. */
export function causeInWords(cause: string): string {
  for (const [pattern, words] of CAUSES) {
    const found = pattern.exec(cause);
    if (found) return words(found.slice(1));
  }
  return cause;
}

const GIVEN_UP = new Set<string | undefined>(["failure", "killed"]);

export const unitOf = (job: Pick<Job, "is_stream">): [one: string, many: string] =>
  job.is_stream ? ["batch", "batches"] : ["datum", "datums"];

/** "4 datums: 1 ran, 3 skipped". */
export function countsInWords(job: Pick<Job, "counts" | "is_stream"> & Partial<Job>): string {
  const { processed = 0, skipped = 0, failed = 0, recovered = 0, total = 0 } = job.counts ?? {};
  const [one, many] = unitOf(job);
  if (total === 0) return `no ${many}`;
  const parts = [
    [processed, "ran"],
    [skipped, "skipped"],
    [failed, "failed"],
    [recovered, "recovered"],
    // A check that breaks fails the job, though none of its datums failed.
    [GIVEN_UP.has(job.state) ? total - processed - skipped - failed - recovered : 0, "not kept"],
  ] as const;
  const said = parts.filter(([n]) => n > 0).map(([n, word]) => `${count(n)} ${word}`);
  return [plural(total, one, many), said.join(", ")].filter(Boolean).join(": ");
}
