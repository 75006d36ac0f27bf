import { render, renderHook, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { ApiError } from "~/api/errors";
import { MoreFailed, moreOf, useMoreNear } from "./More";

const pages = {
  hasNextPage: true,
  isFetchingNextPage: false,
  isFetchNextPageError: false,
  error: null as unknown,
  fetchNextPage: vi.fn(),
};

test("the next page is asked for near the end, once", () => {
  const load = vi.fn();
  const shown = renderHook(({ last, busy }) => useMoreNear({ load, busy }, last, 100, 20), {
    initialProps: { last: 10, busy: false },
  });
  expect(load).not.toHaveBeenCalled();
  shown.rerender({ last: 85, busy: false });
  shown.rerender({ last: 90, busy: true });
  expect(load).toHaveBeenCalledTimes(1);
});

test("what failed is asked for again by hand only", async () => {
  const fetchNextPage = vi.fn();
  const error = new ApiError(400, "usage", "This cursor is none of this list's.");
  const failed = moreOf({ ...pages, fetchNextPage, isFetchNextPageError: true, error });
  const busy = moreOf({ ...pages, fetchNextPage, isFetchingNextPage: true });
  const shown = renderHook(({ more }) => useMoreNear(more, 99, 100, 20), {
    initialProps: { more: busy },
  });
  shown.rerender({ more: failed });
  expect(fetchNextPage).not.toHaveBeenCalled();
  render(<MoreFailed more={failed} />);
  expect(screen.getByRole("alert").textContent).toContain("none of this list's");
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(fetchNextPage).toHaveBeenCalledTimes(1);
});

test("at the end there is no more", () => {
  expect(moreOf({ ...pages, hasNextPage: false })).toBeUndefined();
});
