import type { RepoName } from "~/api/types";
import { complain, say } from "~/ui/toast";
import { within } from "./where";

/** Copies an address that shows the same for ever: it names the commit. */
export function copyPermalink(repo: RepoName, commit: string, path?: string): void {
  const place = path === undefined ? { tab: "history", commit } : { at: commit, path };
  const address = new URL(within(repo, place), window.location.origin).href;
  if (!navigator.clipboard) {
    complain(new Error(`This page may not copy. The address is ${address}`));
    return;
  }
  navigator.clipboard.writeText(address).then(() => say("Copied the permalink."), complain);
}
