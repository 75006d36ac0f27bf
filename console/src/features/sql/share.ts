/** What is asked, in the URL. Long texts are packed, so that links survive chat programs. */
import type { Asked } from "~/api/sql";

const LONG = 2000;
const PACKED = "z";
const PLAIN = "q";

async function through(bytes: Uint8Array, stream: GenericTransform): Promise<Uint8Array> {
  const sent = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair);
  return new Uint8Array(await new Response(sent as ReadableStream<BufferSource>).arrayBuffer());
}

interface GenericTransform {
  readonly readable: ReadableStream;
  readonly writable: WritableStream;
}

const toText = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (one) => String.fromCharCode(one)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

const toBytes = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));

/** The values of the URL's query for a text: one of the two is null. */
export async function packed(text: string): Promise<{ q: string | null; z: string | null }> {
  if (text.length <= LONG) return { q: text || null, z: null };
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  return { q: null, z: toText(bytes) };
}

/** The text in a URL's query; what cannot be read is no text. */
export async function unpacked(params: URLSearchParams): Promise<string> {
  const given = params.get(PACKED);
  if (!given) return params.get(PLAIN) ?? "";
  try {
    const bytes = await through(toBytes(given), new DecompressionStream("deflate-raw"));
    return new TextDecoder().decode(bytes);
  } catch {
    return "";
  }
}

/** A link that fills the editor of whoever opens it. It does not run by itself: queries cost. */
export async function link(asked: Asked, more: Record<string, string> = {}): Promise<string> {
  const { q, z } = await packed(asked.text);
  const query = new URLSearchParams(more);
  if (q) query.set(PLAIN, q);
  if (z) query.set(PACKED, z);
  if (asked.engine !== "duckdb") query.set("engine", asked.engine);
  if (asked.at) query.set("moment", asked.at);
  if (asked.project) query.set("project", asked.project);
  return `${window.location.origin}/sql?${query}`;
}
