import type { Job } from "~/api/types";

/** The moment that is looked at: a commit set, and when it began. */
export interface Then {
  set: string;
  time: string;
}

/** Whether a job was there at a moment, or always if none is given. Those of its set came of it. */
export const wasThere = (job: Pick<Job, "id" | "created">, then: Then | undefined): boolean =>
  !then || job.id === then.set || Date.parse(job.created) <= Date.parse(then.time);
