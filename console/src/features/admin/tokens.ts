import type { TokenInfo } from "~/api/access";

const KINDS: Record<string, string> = {
  session: "a login by browser",
  job: "a job",
  setup: "the first set-up",
};

/** What a token without a note is. */
export const wordOf = (token: Pick<TokenInfo, "kind">): string => KINDS[token.kind] ?? "no note";

export function stateOf(token: Pick<TokenInfo, "revoked" | "expires">, now = Date.now()): string {
  if (token.revoked) return "revoked";
  return token.expires && Date.parse(token.expires) < now ? "expired" : "good";
}

export const isGood = (token: Pick<TokenInfo, "revoked" | "expires">): boolean =>
  stateOf(token) === "good";

const DAY = 86_400;

/** How long a token may hold, in seconds; the empty one until it is revoked. */
export const LENGTHS = [
  { value: String(DAY), text: "1 day" },
  { value: String(7 * DAY), text: "7 days" },
  { value: String(30 * DAY), text: "30 days" },
  { value: String(90 * DAY), text: "90 days" },
  { value: String(365 * DAY), text: "1 year" },
  { value: "", text: "Until it is revoked" },
];
