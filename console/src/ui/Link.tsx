import type { ReactNode } from "react";
import { type LinkProps, Link as RouterLink, useSearchParams } from "react-router";
import type { RepoName } from "~/api/types";
import { paths, shown } from "~/lib/names";

export const MOMENT = "moment";

/** Adds the moment that is being looked at, so that every link stays in it. */
export function useStay(): (to: string) => string {
  const [params] = useSearchParams();
  const moment = params.get(MOMENT);
  return (to) => {
    if (!moment || /[?&]moment=/.test(to)) return to;
    const [path, hash] = to.split("#", 2) as [string, string | undefined];
    const joined = `${path}${path.includes("?") ? "&" : "?"}${MOMENT}=${encodeURIComponent(moment)}`;
    return hash === undefined ? joined : `${joined}#${hash}`;
  };
}

export function Link({ to, ...rest }: Omit<LinkProps, "to"> & { to: string }) {
  const stay = useStay();
  return <RouterLink to={stay(to)} {...rest} />;
}

/** A repo by its name, leading to its files. */
export function RepoLink({ name, children }: { name: RepoName; children?: ReactNode }) {
  return <Link to={paths.repo(name)}>{children ?? shown(name)}</Link>;
}

export function PipelineLink({ name, children }: { name: RepoName; children?: ReactNode }) {
  return <Link to={paths.pipeline(name)}>{children ?? shown(name)}</Link>;
}
