import type { LucideIcon } from "lucide-react";
import { DropdownMenu, Popover as RadixPopover, Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import styles from "./Overlays.module.css";

export interface MenuItem {
  text: string;
  icon?: LucideIcon;
  danger?: boolean;
  disabled?: boolean;
  act: () => void;
}

/** A menu below the button that is given as `children`. null draws a line. */
export function Menu({ items, children }: { items: (MenuItem | null)[]; children: ReactNode }) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{children}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={styles.menu} align="end" sideOffset={4}>
          {items.map((item, n) =>
            item === null ? (
              <DropdownMenu.Separator key={n} className={styles.line} />
            ) : (
              <DropdownMenu.Item
                key={item.text}
                disabled={item.disabled}
                className={`${styles.item} ${item.danger ? styles.danger : ""}`}
                onSelect={item.act}
              >
                {item.icon && <item.icon size={15} aria-hidden />}
                {item.text}
              </DropdownMenu.Item>
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

/** Something small that opens below the button given as `children`. */
export function Popover({ body, children }: { body: ReactNode; children: ReactNode }) {
  return (
    <RadixPopover.Root>
      <RadixPopover.Trigger asChild>{children}</RadixPopover.Trigger>
      <RadixPopover.Portal>
        <RadixPopover.Content className={styles.popover} align="start" sideOffset={4}>
          {body}
        </RadixPopover.Content>
      </RadixPopover.Portal>
    </RadixPopover.Root>
  );
}

/** More about something, when it is pointed at or has the focus. */
export function Tip({ text, children }: { text: ReactNode; children: ReactNode }) {
  return (
    <Tooltip.Root delayDuration={250}>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content className={styles.tip} sideOffset={5} collisionPadding={8}>
          {text}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
