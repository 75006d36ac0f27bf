/** The one way to the API. Answers are typed by its OpenAPI description; refusals are ApiErrors. */
import createClient, { type Middleware } from "openapi-fetch";
import { errorOf } from "./errors";
import type { paths } from "./schema";
import type { Page } from "./types";

const refusals: Middleware = {
  async onResponse({ response, request }) {
    if (response.ok) return;
    const body = await response
      .clone()
      .json()
      .catch(() => null);
    const error = errorOf(response.status, body);
    if (response.status === 401 && !/\/(login|setup|whoami)$/.test(new URL(request.url).pathname)) {
      window.dispatchEvent(new Event("trunkline:logged-out"));
    }
    throw error;
  },
};

export const api = createClient<paths>({ baseUrl: window.location.origin });
api.use(refusals);

/** The data of an answer. A refusal has been thrown before. */
export async function data<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

/** All items of a list, page by page, up to a number that a screen can show. */
export async function everything<Item>(
  page: (cursor: string | undefined) => Promise<Page<Item>>,
  most = 5000,
): Promise<Item[]> {
  const found: Item[] = [];
  let cursor: string | undefined;
  do {
    const answer = await page(cursor);
    found.push(...answer.items);
    cursor = answer.next ?? undefined;
  } while (cursor && found.length < most);
  return found;
}

/** The address of a file's bytes, for downloads and previews. */
export function contentUrl(
  repo: { project: string; repo: string },
  at: string,
  path: string,
): string {
  const query = new URLSearchParams({ at, path });
  return `/api/v1/repos/${encodeURIComponent(repo.project)}/${encodeURIComponent(repo.repo)}/content?${query}`;
}
