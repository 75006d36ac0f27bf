import {
  Activity,
  Boxes,
  Database,
  FlaskConical,
  GitFork,
  House,
  type LucideIcon,
  Settings,
  Table2,
  Terminal,
  Waves,
  Workflow,
} from "lucide-react";

export interface Screen {
  to: string;
  text: string;
  icon: LucideIcon;
}

/** The screens one can go to from anywhere, in the order of the side bar. */
export const SCREENS: readonly Screen[] = [
  { to: "/", text: "Home", icon: House },
  { to: "/graph", text: "Graph", icon: Workflow },
  { to: "/repos", text: "Repos", icon: Database },
  { to: "/pipelines", text: "Pipelines", icon: Boxes },
  { to: "/jobs", text: "Jobs", icon: Activity },
  { to: "/tables", text: "Tables", icon: Table2 },
  { to: "/sql", text: "SQL", icon: Terminal },
  { to: "/streams", text: "Streams", icon: Waves },
  { to: "/lineage", text: "Lineage", icon: GitFork },
  { to: "/environments", text: "Environments", icon: FlaskConical },
  { to: "/admin", text: "Admin", icon: Settings },
];
