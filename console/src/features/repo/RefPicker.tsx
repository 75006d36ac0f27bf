import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { ChevronsUpDown, GitBranch, GitCommitHorizontal, type LucideIcon, Tag } from "lucide-react";
import { Popover } from "radix-ui";
import { type ReactNode, useState } from "react";
import { commitQueries } from "~/api/commits";
import { repoQueries } from "~/api/repos";
import type { RepoName } from "~/api/types";
import { useAt } from "~/features/moment/useMoment";
import { shortId } from "~/lib/format";
import { useQueryState } from "~/lib/url";
import { Button } from "~/ui/Button";
import overlay from "~/ui/Overlays.module.css";
import { Time } from "~/ui/Time";
import styles from "./RefPicker.module.css";

interface Props {
  repo: RepoName;
  value: string;
  onChange: (at: string) => void;
  /** What is chosen here, for screen readers. */
  label?: string;
}

const isId = (at: string): boolean => /^[0-9a-f]{32}$/.test(at);

/** Chooses a branch, a tag or a commit of a repo; what is typed may be any revision. */
export function RefPicker({ repo, value, onChange, label = "Branch, tag or commit" }: Props) {
  const [open, setOpen] = useState(false);
  const tags = useQuery(repoQueries.tags(repo));
  const isTag = tags.data?.some((tag) => tag.name === value);
  const icon: LucideIcon = isId(value) ? GitCommitHorizontal : isTag ? Tag : GitBranch;
  const choose = (at: string) => {
    setOpen(false);
    onChange(at);
  };
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger asChild>
        <Button icon={icon} aria-label={`${label}: ${value}`}>
          <span className={`clip ${styles.value}`} title={value}>
            {isId(value) ? shortId(value) : value}
          </span>
          <ChevronsUpDown size={13} aria-hidden />
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          className={`${overlay.popover} ${styles.box}`}
          align="start"
          sideOffset={4}
          aria-label={label}
        >
          <Choices repo={repo} value={value} onChoose={choose} label={label} />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

function Choices(props: {
  repo: RepoName;
  value: string;
  onChoose: (at: string) => void;
  label: string;
}) {
  const { repo, value, onChoose, label } = props;
  const [text, setText] = useState("");
  const branches = useQuery(repoQueries.branches(repo));
  const tags = useQuery(repoQueries.tags(repo));
  const history = useInfiniteQuery(commitQueries.history(repo));
  const commits = history.data?.pages.flatMap((page) => page.items) ?? [];
  const wanted = text.trim().toLowerCase();
  const has = (...parts: string[]) => parts.some((part) => part.toLowerCase().includes(wanted));
  const shownBranches = branches.data?.filter((one) => has(one.name)) ?? [];
  const shownTags = tags.data?.filter((one) => has(one.name, one.message)) ?? [];
  const shownCommits = commits.filter((one) => has(one.id, one.message)).slice(0, 30);
  const exact = [...shownBranches, ...shownTags].some((one) => one.name === text.trim());
  const item = (at: string, icon: LucideIcon, title: ReactNode, more?: ReactNode, id = at) => (
    <Choice key={id} id={id} icon={icon} current={at === value} onChoose={() => onChoose(at)}>
      <span className="grow clip">{title}</span>
      {more && <span className="dim">{more}</span>}
    </Choice>
  );
  return (
    <Command label={label} shouldFilter={false} loop>
      <Command.Input
        className={styles.input}
        placeholder="Find a branch, tag or commit"
        value={text}
        onValueChange={setText}
        autoFocus
      />
      <Command.List className={styles.list} tabIndex={-1}>
        {shownBranches.length > 0 && (
          <Command.Group heading="Branches" className={styles.group}>
            {shownBranches.map((one) =>
              item(one.name, GitBranch, one.name, undefined, `branch ${one.name}`),
            )}
          </Command.Group>
        )}
        {shownTags.length > 0 && (
          <Command.Group heading="Tags" className={styles.group}>
            {shownTags.map((one) => item(one.name, Tag, one.name, undefined, `tag ${one.name}`))}
          </Command.Group>
        )}
        {shownCommits.length > 0 && (
          <Command.Group heading="Commits" className={styles.group}>
            {shownCommits.map((one) =>
              item(
                one.id,
                GitCommitHorizontal,
                <>
                  <code>{shortId(one.id)}</code> {one.message}
                </>,
                <Time at={one.finished ?? one.started} />,
              ),
            )}
          </Command.Group>
        )}
        {wanted !== "" &&
          !exact &&
          item(text.trim(), GitCommitHorizontal, <>Go to “{text.trim()}”</>, undefined, "typed")}
      </Command.List>
    </Command>
  );
}

function Choice(props: {
  id: string;
  icon: LucideIcon;
  current: boolean;
  onChoose: () => void;
  children: ReactNode;
}) {
  return (
    <Command.Item
      value={props.id}
      onSelect={props.onChoose}
      className={styles.item}
      data-current={props.current || undefined}
    >
      <props.icon size={14} aria-hidden />
      {props.children}
      {props.current && <span className="sr-only">chosen</span>}
    </Command.Item>
  );
}

/** Chooses where a repo is read: `at` in the URL. */
export function AtPicker({ repo, clears = [] }: { repo: RepoName; clears?: string[] }) {
  const at = useAt(repo);
  const [, set] = useQueryState();
  const cleared = Object.fromEntries(clears.map((name) => [name, null]));
  return (
    <RefPicker
      repo={repo}
      value={at ?? "main"}
      onChange={(next) => set({ ...cleared, at: next }, { push: true })}
    />
  );
}
