/** The moment that is looked at: a commit set's ID in the URL, or now.
 *
 * It goes with every link (ui/Link), so the whole console shows the lake as it was then.
 */
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { overviewQueries } from "~/api/overview";
import type { RepoName } from "~/api/types";
import { same } from "~/lib/names";
import { MOMENT } from "~/ui/Link";

/** The commit set's ID, or undefined for now. */
export function useMoment(): string | undefined {
  const [params] = useSearchParams();
  return params.get(MOMENT) ?? undefined;
}

/** Where to read a repo: what the URL says (`at`), else its head at the moment, else main.
 *
 * `undefined` while that is being found out; null if it had nothing then.
 */
export function useAt(repo: RepoName, name = "at"): string | null | undefined {
  const [params] = useSearchParams();
  const moment = useMoment();
  const asked = params.get(name);
  const overview = useQuery({
    ...overviewQueries.at(moment),
    enabled: moment !== undefined && !asked,
  });
  if (asked) return asked;
  if (!moment) return "main";
  // The screen says so in the API's words: see app/Broken.
  if (overview.error) throw overview.error;
  // What another moment had must not stand under this one's name.
  if (!overview.data || overview.isPlaceholderData) return undefined;
  return overview.data.nodes.find((node) => same(node.name, repo))?.head?.commit ?? null;
}
