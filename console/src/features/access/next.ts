/** Where to go after logging in: a path of ours, or home.
 *
 * Addresses are read as the browser reads them, which drops tabs and turns `\` into `/`: what looks
 * like a path may be another host.
 */
export function safeNext(next: string | null): string {
  if (!next?.startsWith("/")) return "/";
  let found: URL;
  try {
    found = new URL(next, window.location.origin);
  } catch {
    return "/";
  }
  const path = found.pathname + found.search + found.hash;
  const ours = found.origin === window.location.origin && !path.startsWith("//");
  return ours && found.pathname !== "/login" ? path : "/";
}
