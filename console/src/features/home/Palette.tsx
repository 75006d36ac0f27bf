import { useQuery } from "@tanstack/react-query";
import { Command } from "cmdk";
import { CornerDownLeft, History, type LucideIcon } from "lucide-react";
import { Dialog } from "radix-ui";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { useNavigate } from "react-router";
import { searchQueries } from "~/api/search";
import { useSettled } from "~/lib/useSettled";
import { useStay } from "~/ui/Link";
import { Failure } from "~/ui/Messages";
import { useOpener } from "~/ui/useOpener";
import { useChoices } from "./choices";
import { byKind, LOOKS, lineOf } from "./hits";
import styles from "./Palette.module.css";
import { type Recent, recents, remember } from "./recent";

const NewRepoDialog = lazy(() => import("~/features/repo/NewRepoDialog"));
const PAUSE = 150;

/** Finds anything by a part of its name, and does what one would else look for in menus. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [making, setMaking] = useState(false);
  const giveBack = useOpener(!making);
  const go = useNavigate();
  const stay = useStay();
  const asked = useSettled(text.trim(), PAUSE);
  const found = useQuery(searchQueries.find(asked));
  const { screens, actions } = useChoices(text, () => setMaking(true));
  const open = (one: Recent) => {
    remember(one);
    onClose();
    void go(stay(one.to));
  };
  const hits = text.trim() ? byKind(found.data?.items ?? []) : [];
  const known = text ? [] : recents();
  const waits = text.trim() !== asked || found.isFetching;

  if (making) {
    return (
      <Suspense fallback={null}>
        <NewRepoDialog onClose={onClose} />
      </Suspense>
    );
  }
  return (
    <Dialog.Root open onOpenChange={(now) => !now && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className={styles.veil} />
        <Dialog.Content
          className={styles.box}
          aria-describedby={undefined}
          onCloseAutoFocus={giveBack}
        >
          <Dialog.Title className="sr-only">Find anything</Dialog.Title>
          <Command label="Find anything" shouldFilter={false} loop>
            <Command.Input
              className={styles.input}
              placeholder="A repo, pipeline, table, column, file, branch, message or ID"
              value={text}
              onValueChange={setText}
              autoFocus
            />
            <Command.List className={styles.list} label="What was found">
              {text.trim() && !waits && !found.error && (
                <Command.Empty className={styles.none}>Nothing is called like this.</Command.Empty>
              )}
              {found.error && text.trim() && <Failure error={found.error} />}
              <Group heading="Recent">
                {known.map((one) => (
                  <Line
                    key={one.to}
                    value={`recent ${one.to}`}
                    icon={LOOKS[one.kind]?.icon ?? History}
                    text={one.text}
                    where={one.where}
                    act={() => open(one)}
                  />
                ))}
              </Group>
              {hits.map(([kind, some]) => (
                <Group key={kind} heading={LOOKS[kind]?.many ?? kind}>
                  {some.map((hit) => {
                    const line = lineOf(hit);
                    const to = LOOKS[kind]?.to(hit) ?? "/";
                    return (
                      <Line
                        key={`${to} ${line.text}`}
                        value={`${kind} ${to} ${line.text}`}
                        icon={LOOKS[kind]?.icon ?? History}
                        {...line}
                        act={() => open({ kind, to, ...line })}
                      />
                    );
                  })}
                </Group>
              ))}
              <Group heading="Screens">
                {screens.map(({ to, text: name, icon }) => (
                  <Line
                    key={to}
                    value={`screen ${to}`}
                    icon={icon}
                    text={name}
                    act={() => {
                      onClose();
                      void go(stay(to));
                    }}
                  />
                ))}
              </Group>
              <Group heading="Actions">
                {actions.map(({ text: name, icon, keepsOpen, act }) => (
                  <Line
                    key={name}
                    value={`action ${name}`}
                    icon={icon}
                    text={name}
                    act={() => {
                      if (!keepsOpen) onClose();
                      act();
                    }}
                  />
                ))}
              </Group>
            </Command.List>
            <div className={styles.foot} role="status">
              {waits && text.trim()
                ? "Searching…"
                : found.data?.partial && text.trim()
                  ? "The lake is large: not all of its files were searched."
                  : "↑ ↓ choose, ↵ opens, Esc closes"}
            </div>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Group({ heading, children }: { heading: string; children: ReactNode[] }) {
  if (children.length === 0) return null;
  return (
    <Command.Group heading={heading} className={styles.group}>
      {children}
    </Command.Group>
  );
}

function Line({
  value,
  icon: Icon,
  text,
  where,
  act,
}: {
  value: string;
  icon: LucideIcon;
  text: string;
  where?: string;
  act: () => void;
}) {
  return (
    <Command.Item value={value} onSelect={act} className={styles.line}>
      <Icon size={16} aria-hidden />
      <span className={styles.text}>{text}</span>
      {where && <span className={styles.where}>{where}</span>}
      <CornerDownLeft size={14} aria-hidden className={styles.enter} />
    </Command.Item>
  );
}
