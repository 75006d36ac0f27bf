import type { DatumInfo, Job } from "~/api/types";
import { plural, shortId } from "~/lib/format";
import { paths, same, shown } from "~/lib/names";
import { ButtonLink } from "~/ui/Button";
import { Link } from "~/ui/Link";
import { Failure, Loading } from "~/ui/Messages";
import { Facts } from "~/ui/Page";
import { useLog } from "../logs/useLog";
import styles from "./DatumsTab.module.css";

type Input = DatumInfo["inputs"][number];
const FEW = 200;

/** One datum: what it read and wrote, its error, and what it printed. */
export function DatumDetail({ job, datum }: { job: Job; datum: DatumInfo }) {
  const computed = datum.job;
  return (
    <div className={styles.detail}>
      {datum.error && <Printed label="Error" text={datum.error} />}
      <Facts
        facts={[
          [
            "ID",
            <span key="i" className="mono">
              {datum.id}
            </span>,
          ],
          ["Why", datum.reason],
          [
            "Reads",
            <span key="r" className="row wrap">
              {datum.inputs.map((input) => (
                <InputLink key={`${input.name} ${input.path}`} job={job} input={input} />
              ))}
            </span>,
          ],
          [
            "Wrote",
            job.output_commit && datum.tries ? (
              <Link key="o" to={`${paths.repo(job.pipeline)}?at=${job.output_commit}`}>
                {plural(datum.outputs ?? 0, "file")} of {shown(job.pipeline)}
              </Link>
            ) : undefined,
          ],
          [
            "Computed by",
            computed && computed !== job.id ? (
              <Link key="c" to={paths.job(job.pipeline, computed)} className="mono">
                {shortId(computed)}
              </Link>
            ) : undefined,
          ],
        ]}
      />
      {datum.state !== "skipped" && <DatumLog job={job} datum={datum.id} />}
    </div>
  );
}

function InputLink({ job, input }: { job: Job; input: Input }) {
  const at = job.inputs?.find(
    (one) => one.name === input.name && same(one.repo, input.repo),
  )?.commit;
  const query = new URLSearchParams({ path: input.path, ...(at ? { at } : {}) });
  const keys = [
    input.join_on && `join_on ${input.join_on}`,
    input.group_by && `group_by ${input.group_by}`,
  ].filter(Boolean);
  return (
    <span>
      <Link to={`${paths.repo(input.repo)}?${query}`} className="mono">
        {shown(input.repo)}:{input.path}
      </Link>
      {keys.length > 0 && <span className="dim"> ({keys.join(", ")})</span>}
    </span>
  );
}

function DatumLog({ job, datum }: { job: Job; datum: string }) {
  const { lines, done, error } = useLog(job, datum);
  const to = `${paths.job(job.pipeline, job.id)}?tab=logs&datum=${encodeURIComponent(datum)}`;
  const text = lines
    .slice(-FEW)
    .map((line) => line.text)
    .join("\n");
  return (
    <>
      {error ? <Failure error={error} /> : null}
      {text ? (
        <Printed label="What it printed" text={text} />
      ) : done ? (
        <p className="dim">It printed nothing.</p>
      ) : (
        <Loading what="Loading what it printed" />
      )}
      {text && (
        <div>
          <ButtonLink small to={to}>
            {lines.length > FEW ? `All ${plural(lines.length, "line")}` : "Show in the log"}
          </ButtonLink>
        </div>
      )}
    </>
  );
}

const Printed = ({ label, text }: { label: string; text: string }) => (
  <pre role="region" aria-label={label} tabIndex={0}>
    {text}
  </pre>
);
