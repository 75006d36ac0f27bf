import { complain, say } from "./toast";

/** Puts a text on the clipboard and says so. Browsers allow that only where they trust the page. */
export async function copy(text: string, said: string): Promise<void> {
  if (!navigator.clipboard) {
    complain(new Error("This page may not copy: browsers allow it over HTTPS and on localhost."));
    return;
  }
  await navigator.clipboard.writeText(text).then(() => say(said), complain);
}
