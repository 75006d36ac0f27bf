/** Sends one file into a transaction: at once, or in parts that go on where they were cut off. */
import { ApiError, errorOf } from "~/api/errors";

export const LARGE = 64 * 2 ** 20;
export const PART = 16 * 2 ** 20;
const TRIES = 5;

interface Request {
  method: string;
  url: string;
  body?: Blob;
  headers?: Record<string, string>;
  onSent?: (bytes: number) => void;
  signal: AbortSignal;
}

interface Begun {
  id: string;
  /** How many bytes of it are there. */
  offset: number;
}

/** A request whose progress is told, which `fetch` does not do. */
function send(request: Request): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { signal } = request;
    if (signal.aborted) return reject(signal.reason);
    const xhr = new XMLHttpRequest();
    const stop = () => xhr.abort();
    signal.addEventListener("abort", stop);
    xhr.onloadend = () => signal.removeEventListener("abort", stop);
    xhr.open(request.method, request.url);
    xhr.setRequestHeader("X-Trunkline", "1");
    if (request.body) xhr.setRequestHeader("Content-Type", "application/octet-stream");
    for (const [name, value] of Object.entries(request.headers ?? {})) {
      xhr.setRequestHeader(name, value);
    }
    xhr.upload.onprogress = (event) => request.onSent?.(event.loaded);
    xhr.onabort = () => reject(signal.reason);
    xhr.onerror = () =>
      reject(new ApiError(0, "unreachable", "The connection to the server was lost."));
    xhr.onload = () => {
      let body: unknown = null;
      try {
        body = xhr.responseText ? JSON.parse(xhr.responseText) : null;
      } catch {
        // It is told below that this was no answer of the API.
      }
      if (xhr.status >= 200 && xhr.status < 300) resolve(body);
      else reject(errorOf(xhr.status, body));
    };
    xhr.send(request.body ?? null);
  });
}

const passes = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 0 || error.status === 409 || error.status >= 500);

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The receipt of a file, once all of it is there. `onSent` hears how many bytes are. */
export async function deliver(
  txn: string,
  path: string,
  file: Blob,
  onSent: (bytes: number) => void,
  signal: AbortSignal,
  large = LARGE,
  part = PART,
): Promise<string> {
  const base = `/api/v1/transactions/${encodeURIComponent(txn)}`;
  const query = new URLSearchParams({ path });
  if (file.size <= large) {
    const url = `${base}/objects?${query}`;
    const done = await send({ method: "PUT", url, body: file, onSent, signal });
    return (done as { receipt: string }).receipt;
  }
  query.set("size", String(file.size));
  const begun = await send({ method: "POST", url: `${base}/uploads?${query}`, signal });
  const url = `${base}/uploads/${encodeURIComponent((begun as Begun).id)}`;
  let offset = 0;
  let failures = 0;
  let cutOff = false;
  while (offset < file.size) {
    try {
      if (cutOff) offset = ((await send({ method: "GET", url, signal })) as Begun).offset;
      cutOff = false;
      const from = offset;
      const body = file.slice(from, from + part);
      if (body.size === 0) break;
      await send({
        method: "PATCH",
        url,
        body,
        headers: { "Upload-Offset": String(from) },
        onSent: (bytes) => onSent(from + bytes),
        signal,
      });
      offset += body.size;
      failures = 0;
    } catch (error) {
      failures += 1;
      if (failures >= TRIES || !passes(error)) throw error;
      await pause(250 * 2 ** failures);
      cutOff = true;
    }
    onSent(offset);
  }
  const done = await send({ method: "POST", url: `${url}/finish`, signal });
  return (done as { receipt: string }).receipt;
}
