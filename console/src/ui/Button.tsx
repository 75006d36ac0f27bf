import { LoaderCircle, type LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import styles from "./Button.module.css";
import { Link } from "./Link";

interface Look {
  kind?: "default" | "primary" | "danger" | "ghost";
  small?: boolean;
  icon?: LucideIcon;
}

interface Props extends Look, ButtonHTMLAttributes<HTMLButtonElement> {
  /** While it works: it cannot be pressed again. */
  busy?: boolean;
  /** What an icon alone means, for those who do not see it. */
  label?: string;
  children?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

function look({ kind = "default", small }: Look, iconOnly: boolean): string {
  return [styles.button, styles[kind], small && styles.small, iconOnly && styles.icon]
    .filter(Boolean)
    .join(" ");
}

export function Button({ kind, small, icon: Icon, busy, label, children, ...rest }: Props) {
  const Shown = busy ? LoaderCircle : Icon;
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={look({ kind, small }, !children)}
      {...rest}
      disabled={rest.disabled || busy}
    >
      {Shown && <Shown size={small ? 14 : 16} aria-hidden className={busy ? styles.spin : ""} />}
      {children}
    </button>
  );
}

/** A link that looks like a button: it leads somewhere and changes nothing. */
export function ButtonLink({
  to,
  kind,
  small,
  icon: Icon,
  label,
  children,
}: Look & { to: string; label?: string; children?: ReactNode }) {
  return (
    <Link to={to} className={look({ kind, small }, !children)} aria-label={label} title={label}>
      {Icon && <Icon size={small ? 14 : 16} aria-hidden />}
      {children}
    </Link>
  );
}
