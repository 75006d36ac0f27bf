import type { Job } from "~/api/types";
import { full } from "~/lib/names";
import { List } from "~/ui/List";
import { Empty } from "~/ui/Messages";
import { JOB_COLUMNS, type JobColumn } from "./columns";

interface Props {
  jobs: Job[];
  /** Columns that say nothing where it stands. */
  hide?: JobColumn[];
  label?: string;
  empty?: React.ReactNode;
  more?: { load: () => void; busy: boolean };
}

/** Some jobs, as part of a screen. The screen of all jobs has a longer list. */
export function JobsTable({ jobs, hide = [], label = "Jobs", empty, more }: Props) {
  return (
    <List
      label={label}
      items={jobs}
      columns={JOB_COLUMNS.filter((column) => !hide.includes(column.id))}
      keyOf={(job) => `${full(job.pipeline)}@${job.id}`}
      sortName="jobs"
      more={more}
      empty={empty ?? <Empty title="No jobs yet">They start when data changes.</Empty>}
    />
  );
}
