import { useParam, useQueryState } from "~/lib/url";
import { SearchBox } from "~/ui/Field";
import { Answer, Empty } from "~/ui/Messages";
import styles from "./Profile.module.css";
import { ProfileCard } from "./ProfileCard";
import { AskForProfile, useProfile } from "./useProfile";
import type { Shown } from "./useTable";

export function ProfileTab({ shown }: { shown: Shown }) {
  const { profile, waits, ask } = useProfile(shown);
  const [text, setText] = useParam("q");
  const [, set] = useQueryState();
  if (waits) return <AskForProfile rows={shown.info.rows} ask={ask} />;
  return (
    <Answer of={profile}>
      {({ columns }) => {
        const found = columns.filter((one) => one.name.toLowerCase().includes(text.toLowerCase()));
        return (
          <div className="stack">
            <div style={{ width: 320, maxWidth: "100%" }}>
              <SearchBox label="Filter columns" value={text} onChange={setText} />
            </div>
            {found.length === 0 && <Empty title="No column matches" />}
            <div className={styles.cards}>
              {found.map((one) => (
                <ProfileCard
                  key={one.name}
                  column={one}
                  onOpen={(column) => set({ tab: "lineage", column, q: null }, { push: true })}
                />
              ))}
            </div>
          </div>
        );
      }}
    </Answer>
  );
}
