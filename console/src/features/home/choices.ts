import {
  Activity,
  Boxes,
  Clock,
  Database,
  GitFork,
  House,
  KeyRound,
  type LucideIcon,
  Moon,
  Plus,
  Settings,
  Sun,
  Table2,
  Terminal,
  Users,
  Waves,
  Workflow,
} from "lucide-react";
import { useNavigate } from "react-router";
import { setTheme, useIsDark } from "~/lib/theme";
import { useQueryState } from "~/lib/url";
import { MOMENT, useStay } from "~/ui/Link";

export interface Screen {
  to: string;
  text: string;
  icon: LucideIcon;
}

export interface Action {
  text: string;
  icon: LucideIcon;
  act: () => void;
  /** What it opens takes the palette's place. */
  keepsOpen?: boolean;
}

const SCREENS: Screen[] = [
  { to: "/", text: "Home", icon: House },
  { to: "/graph", text: "Graph", icon: Workflow },
  { to: "/repos", text: "Repos", icon: Database },
  { to: "/pipelines", text: "Pipelines", icon: Boxes },
  { to: "/jobs", text: "Jobs", icon: Activity },
  { to: "/tables", text: "Tables", icon: Table2 },
  { to: "/sql", text: "SQL", icon: Terminal },
  { to: "/streams", text: "Streams", icon: Waves },
  { to: "/lineage", text: "Lineage", icon: GitFork },
  { to: "/admin", text: "Admin", icon: Settings },
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
  return { screens: SCREENS.filter(matches(text)), actions: actions.filter(matches(text)) };
}
