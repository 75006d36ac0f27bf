/** Which screen is where. Each is loaded when it is first opened. */
import { createBrowserRouter, Outlet, type RouteObject } from "react-router";
import { Toasts } from "~/ui/toast";
import { Broken, NotThere } from "./Broken";
import { Shell } from "./Shell";

type Screen = () => Promise<{ default: React.ComponentType }>;

const at = (path: string, screen: Screen): RouteObject => ({
  path,
  lazy: async () => ({ Component: (await screen()).default }),
});

/** Messages may have links, so they stand inside the router. */
function Root() {
  return (
    <>
      <Outlet />
      <Toasts />
    </>
  );
}

const screens: RouteObject[] = [
  at("/login", () => import("~/features/access/LoginPage")),
  {
    Component: Shell,
    HydrateFallback: () => null,
    children: [
      {
        ErrorBoundary: Broken,
        children: [
          at("/", () => import("~/features/home/HomePage")),
          at("/graph", () => import("~/features/graph/GraphPage")),
          at("/repos", () => import("~/features/repo/ReposPage")),
          at("/repos/:project/:repo", () => import("~/features/repo/RepoPage")),
          at("/pipelines", () => import("~/features/pipeline/PipelinesPage")),
          at("/pipelines/new", () => import("~/features/pipeline/NewPipelinePage")),
          at("/pipelines/:project/:repo", () => import("~/features/pipeline/PipelinePage")),
          at("/jobs", () => import("~/features/jobs/JobsPage")),
          at("/jobs/:project/:repo/:id", () => import("~/features/jobs/JobPage")),
          at("/sets/:id", () => import("~/features/jobs/SetPage")),
          at("/tables", () => import("~/features/table/TablesPage")),
          at("/tables/:project/:repo", () => import("~/features/table/TablePage")),
          at("/sql", () => import("~/features/sql/SqlPage")),
          at("/streams", () => import("~/features/streams/StreamsPage")),
          at("/streams/:project/:repo", () => import("~/features/streams/StreamPage")),
          at("/lineage", () => import("~/features/lineage/LineagePage")),
          at("/environments", () => import("~/features/environments/EnvironmentsPage")),
          at(
            "/environments/:project/:environment",
            () => import("~/features/environments/EnvironmentPage"),
          ),
          at("/admin", () => import("~/features/admin/AdminPage")),
          { path: "*", Component: NotThere },
        ],
      },
    ],
  },
];

export const router = createBrowserRouter([
  { Component: Root, ErrorBoundary: Broken, HydrateFallback: () => null, children: screens },
]);
