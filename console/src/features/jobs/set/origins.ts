import type { Commit, Job } from "~/api/types";
import { full } from "~/lib/names";

/** The commits with which a set began: those no job made; else those of jobs that read none of it. */
export function origins(commits: Commit[], jobs: Job[]): Commit[] {
  const made = new Map(jobs.map((job) => [full(job.pipeline), job]));
  const given = commits.filter((one) => !made.has(full(one.repo)) && one.origin !== "pipeline");
  if (given.length > 0) return given;
  const here = new Set(commits.map((one) => full(one.repo)));
  return commits.filter((one) => {
    const inputs = made.get(full(one.repo))?.inputs ?? [];
    return !inputs.some((input) => input.commit === one.id && here.has(full(input.repo)));
  });
}
