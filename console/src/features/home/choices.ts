import { Clock, KeyRound, type LucideIcon, Moon, Plus, Sun, Terminal, Users } from "lucide-react";
import { useNavigate } from "react-router";
import { SCREENS, type Screen } from "~/lib/screens";
import { setTheme, useIsDark } from "~/lib/theme";
import { useQueryState } from "~/lib/url";
import { MOMENT, useStay } from "~/ui/Link";

export interface Action {
  text: string;
  icon: LucideIcon;
  act: () => void;
  /** What it opens takes the palette's place. */
  keepsOpen?: boolean;
}

const PLACES: Screen[] = [
  ...SCREENS,
  { to: "/admin?tab=users", text: "Admin: users", icon: Users },
  { to: "/admin?tab=tokens", text: "Admin: tokens", icon: KeyRound },
];

const matches = (text: string) => {
  const wanted = text.trim().toLowerCase();
  return (one: { text: string }) => one.text.toLowerCase().includes(wanted);
};

/** The screens and actions that fit a text. */
export function useChoices(text: string, newRepo: () => void) {
  const go = useNavigate();
  const stay = useStay();
  const dark = useIsDark();
  const [params, set] = useQueryState();
  const actions: Action[] = [
    { text: "New repo", icon: Plus, act: newRepo, keepsOpen: true },
    { text: "New pipeline", icon: Plus, act: () => void go(stay("/pipelines/new")) },
    { text: "New query", icon: Terminal, act: () => void go(stay("/sql")) },
    {
      text: dark ? "Light theme" : "Dark theme",
      icon: dark ? Sun : Moon,
      act: () => setTheme(dark ? "light" : "dark"),
    },
    ...(params.has(MOMENT)
      ? [{ text: "Go to now", icon: Clock, act: () => set({ [MOMENT]: null }, { push: true }) }]
      : []),
  ];
  return { screens: PLACES.filter(matches(text)), actions: actions.filter(matches(text)) };
}
