import { useQuery } from "@tanstack/react-query";
import { LogOut, Moon, Search, Sun } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { Navigate, NavLink, Outlet, useLocation, useNavigation } from "react-router";
import { accessQueries, logout } from "~/api/access";
import { asApiError } from "~/api/errors";
import { useConnected, useLive } from "~/api/live";
import { MomentBar, TimelineButton, useTimeline } from "~/features/moment/MomentBar";
import { SCREENS } from "~/lib/screens";
import { setTheme, useIsDark } from "~/lib/theme";
import { Button } from "~/ui/Button";
import { useStay } from "~/ui/Link";
import { Menu } from "~/ui/Menu";
import { Failure } from "~/ui/Messages";
import { attempt } from "~/ui/toast";
import { Mark } from "./Mark";
import styles from "./Shell.module.css";

const Palette = lazy(() => import("~/features/home/Palette"));

/** The frame around every screen: where to go, who one is, and which moment is looked at. */
export function Shell() {
  const who = useQuery(accessQueries.whoami());
  const info = useQuery(accessQueries.info());
  const here = useLocation();
  if (who.error && asApiError(who.error).status === 401)
    return (
      <Navigate to={`/login?next=${encodeURIComponent(here.pathname + here.search)}`} replace />
    );
  // A server that goes away later is told of in the frame: what was written there must not go too.
  const failed = (!info.data && info) || (!who.data && who);
  if (failed && failed.error !== null) {
    return (
      <div style={{ padding: 40 }}>
        <Failure error={failed.error} retry={() => void failed.refetch()} />
      </div>
    );
  }
  if (!who.data) return null;
  return <Frame user={info.data?.authenticated ? who.data.name : ""} />;
}

function Frame({ user }: { user: string }) {
  useLive();
  const stay = useStay();
  const connected = useConnected();
  const dark = useIsDark();
  const { pathname } = useLocation();
  const busy = useNavigation().state === "loading";
  const [finding, setFinding] = useState(false);
  const timeline = useTimeline();

  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      const typing = (event.target as HTMLElement).closest?.(
        "input, textarea, select, [contenteditable=true]",
      );
      if (
        (event.key === "k" && (event.ctrlKey || event.metaKey)) ||
        (event.key === "/" && !typing)
      ) {
        event.preventDefault();
        setFinding(true);
      }
    };
    window.addEventListener("keydown", open);
    return () => window.removeEventListener("keydown", open);
  }, []);
  useEffect(() => {
    const out = () => {
      const { pathname, search } = window.location;
      window.location.assign(`/login?next=${encodeURIComponent(pathname + search)}`);
    };
    window.addEventListener("trunkline:logged-out", out);
    return () => window.removeEventListener("trunkline:logged-out", out);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another screen begins at its top
  useEffect(() => {
    document.getElementById("main")?.scrollTo(0, 0);
  }, [pathname]);

  return (
    <div className={styles.shell} aria-busy={busy}>
      <a href="#main" className={styles.skip}>
        Skip to the content
      </a>
      <nav className={styles.side} aria-label="Screens">
        <NavLink to={stay("/")} className={styles.brand} aria-label="Trunkline, home">
          <Mark />
          <span>Trunkline</span>
        </NavLink>
        {SCREENS.map(({ to, text, icon: Icon }) => (
          <NavLink
            key={to}
            to={stay(to)}
            end={to === "/"}
            className={styles.nav}
            aria-label={text}
            title={text}
          >
            <Icon size={17} aria-hidden />
            <span>{text}</span>
          </NavLink>
        ))}
      </nav>
      <header className={styles.bar}>
        <button type="button" className={styles.find} onClick={() => setFinding(true)}>
          <Search size={15} aria-hidden />
          Find anything
          <kbd>Ctrl K</kbd>
        </button>
        <span className="grow" />
        {!connected && (
          <span className={styles.lost} role="status">
            No connection; trying again
          </span>
        )}
        <TimelineButton shown={timeline} />
        <Button
          kind="ghost"
          icon={dark ? Sun : Moon}
          label={dark ? "Light theme" : "Dark theme"}
          onClick={() => setTheme(dark ? "light" : "dark")}
        />
        {user && (
          <Menu
            items={[
              {
                text: "Log out",
                icon: LogOut,
                act: () => void attempt(logout()).then(() => window.location.assign("/login")),
              },
            ]}
          >
            <Button kind="ghost">{user}</Button>
          </Menu>
        )}
      </header>
      <div className={styles.moment}>
        <MomentBar shown={timeline} />
      </div>
      <main id="main" className={styles.main} tabIndex={-1}>
        <Outlet />
      </main>
      {finding && (
        <Suspense>
          <Palette onClose={() => setFinding(false)} />
        </Suspense>
      )}
    </div>
  );
}
