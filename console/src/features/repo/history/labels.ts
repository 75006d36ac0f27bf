import type { Branch, Tag } from "~/api/types";

export interface Label {
  kind: "branch" | "tag";
  name: string;
}

/** The branches and tags that point at each commit. */
export function labelsOf(branches: Branch[], tags: Tag[]): Map<string, Label[]> {
  const found = new Map<string, Label[]>();
  const add = (commit: string | null, label: Label) => {
    if (commit) found.set(commit, [...(found.get(commit) ?? []), label]);
  };
  for (const { head, name } of branches) add(head, { kind: "branch", name });
  for (const { commit, name } of tags) add(commit, { kind: "tag", name });
  return found;
}
