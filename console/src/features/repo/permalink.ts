import type { RepoName } from "~/api/types";
import { copy } from "~/ui/copy";
import { within } from "./where";

/** Copies an address that shows the same for ever: it names the commit. */
export function copyPermalink(repo: RepoName, commit: string, path?: string): void {
  const place = path === undefined ? { tab: "history", commit } : { at: commit, path };
  const address = new URL(within(repo, place), window.location.origin).href;
  void copy(address, "Copied the permalink.");
}
