import { Tabs as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { useQueryState } from "~/lib/url";
import styles from "./Tabs.module.css";

export interface Tab {
  id: string;
  title: ReactNode;
  body: () => ReactNode;
}

/** Tabs whose choice stands in the URL. `clears` are values of the query that belong to one tab. */
export function Tabs({
  tabs,
  name = "tab",
  label,
  clears = [],
  full,
}: {
  tabs: Tab[];
  name?: string;
  label: string;
  clears?: string[];
  full?: boolean;
}) {
  const [params, set] = useQueryState();
  const first = tabs[0]?.id ?? "";
  const asked = params.get(name) ?? first;
  const chosen = tabs.some((tab) => tab.id === asked) ? asked : first;
  const cleared = Object.fromEntries(clears.map((one) => [one, null]));
  return (
    <Radix.Root
      value={chosen}
      onValueChange={(id) => set({ ...cleared, [name]: id === first ? null : id }, { push: true })}
      activationMode="manual"
      className={full ? styles.full : undefined}
    >
      <Radix.List className={styles.list} aria-label={label}>
        {tabs.map((tab) => (
          <Radix.Trigger key={tab.id} value={tab.id} className={styles.tab}>
            {tab.title}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id} className={styles.body}>
          {tab.id === chosen && tab.body()}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
