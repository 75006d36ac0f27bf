import { Fragment, type ReactNode, useEffect } from "react";
import { Link } from "./Link";
import styles from "./Page.module.css";

interface PageProps {
  /** What the browser's tab is called; also the heading unless `heading` is given. */
  title: string;
  heading?: ReactNode;
  crumbs?: { to: string; text: string }[];
  about?: ReactNode;
  actions?: ReactNode;
  /** For screens that fill the window and scroll inside. */
  full?: boolean;
  children: ReactNode;
}

export function Page({ title, heading, crumbs, about, actions, full, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Trunkline`;
  }, [title]);
  return (
    <div className={`${styles.page} ${full ? styles.full : ""}`}>
      <header className={styles.head}>
        <div className={styles.titles}>
          {crumbs && (
            <nav aria-label="Breadcrumb" className={styles.crumbs}>
              {crumbs.map((crumb) => (
                <Fragment key={crumb.to}>
                  <Link to={crumb.to}>{crumb.text}</Link>
                  <span aria-hidden>/</span>
                </Fragment>
              ))}
            </nav>
          )}
          <h1>{heading ?? title}</h1>
          {about && <div className={styles.about}>{about}</div>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Panel({
  title,
  actions,
  padded,
  children,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  padded?: boolean;
  children: ReactNode;
}) {
  return (
    <section className={styles.panel}>
      {(title || actions) && (
        <div className={styles.panelHead}>
          {title && <h2>{title}</h2>}
          {actions}
        </div>
      )}
      <div className={padded ? styles.padded : undefined}>{children}</div>
    </section>
  );
}

/** Names and what they are, one below the other. Those that are undefined are left out. */
export function Facts({ facts }: { facts: [name: string, value: ReactNode | undefined][] }) {
  return (
    <dl className={styles.facts}>
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== "")
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  );
}

export function Stat({ value, name }: { value: ReactNode; name: ReactNode }) {
  return (
    <div className={styles.stat}>
      <b>{value}</b>
      <span>{name}</span>
    </div>
  );
}
