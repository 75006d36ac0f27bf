import { useQuery } from "@tanstack/react-query";
import { History } from "lucide-react";
import { asApiError } from "~/api/errors";
import { overviewQueries } from "~/api/overview";
import { exactly, plural } from "~/lib/format";
import { paths, shown } from "~/lib/names";
import { Button } from "~/ui/Button";
import { Link } from "~/ui/Link";
import styles from "./Moment.module.css";
import { type SetSummary, titleOf } from "./moments";

const NAMED = 3;

function Repos({ set }: { set: SetSummary }) {
  const rest = set.repos.length - NAMED;
  return (
    <span className="dim" title={set.repos.map(shown).join(", ")}>
      changed {set.repos.slice(0, NAMED).map(shown).join(", ")}
      {rest > 0 && ` and ${plural(rest, "other")}`}
    </span>
  );
}

/** Says that it is the past that is shown, of which change, and leads back. */
export function MomentBand({
  moment,
  set,
  onNow,
}: {
  moment: string;
  set: SetSummary | undefined;
  onNow: () => void;
}) {
  const overview = useQuery(overviewQueries.at(moment));
  const at = set?.at ?? (overview.isPlaceholderData ? undefined : overview.data?.time);
  return (
    <div className={styles.band} role="status">
      <History size={16} aria-hidden />
      <div className={styles.words}>
        {overview.error ? (
          <span>{asApiError(overview.error).message}</span>
        ) : (
          <>
            <b>The lake as of {at ? <time dateTime={at}>{exactly(at)}</time> : "…"}</b>
            {set && (
              <>
                <Link to={paths.set(set.id)} className="clip">
                  {titleOf(set)}
                </Link>
                <span className="dim">by {set.author}</span>
                <Repos set={set} />
              </>
            )}
          </>
        )}
      </div>
      <Button small kind="primary" onClick={onNow}>
        Back to now
      </Button>
    </div>
  );
}
