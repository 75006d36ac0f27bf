/** When a branch follows another, in words. */
import { bytes, plural } from "~/lib/format";

type Loose = Record<string, unknown>;

export function triggerText(trigger: Loose): string {
  const { on, size, commits, cron, rate_limit: rate, all, timezone } = trigger;
  const when = [
    typeof size === "number" && `${bytes(size)} of new data`,
    typeof commits === "number" && plural(commits, "new commit"),
    typeof cron === "string" && `${cron} (${String(timezone ?? "UTC")})`,
    typeof rate === "string" && `at most every ${rate}`,
  ].filter((one) => one !== false);
  const text = when.join(all ? " and " : " or ");
  return `follows ${String(on)}${text ? `: ${text}` : ""}`;
}
