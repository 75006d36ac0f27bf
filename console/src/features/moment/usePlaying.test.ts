import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { usePlaying } from "./usePlaying";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function player(start: number, end: number) {
  let place = start;
  const hook = renderHook(() =>
    usePlaying(place, end, (to) => {
      place = to;
    }),
  );
  const wait = (ms: number) => {
    act(() => void vi.advanceTimersByTime(ms));
    hook.rerender();
  };
  return { hook, wait, place: () => place };
}

test("it goes on step by step and stops at the end", () => {
  const { hook, wait, place } = player(1, 3);
  act(() => hook.result.current.toggle());
  wait(1200);
  expect(place()).toBe(2);
  wait(1200);
  expect(place()).toBe(3);
  expect(hook.result.current.playing).toBe(false);
  wait(5000);
  expect(place()).toBe(3);
});

test("from the end it begins anew, and quicker if one wishes", () => {
  const { hook, wait, place } = player(3, 3);
  act(() => hook.result.current.setSpeed(4));
  act(() => hook.result.current.toggle());
  hook.rerender();
  expect(place()).toBe(0);
  wait(300);
  expect(place()).toBe(1);
  act(() => hook.result.current.stop());
  wait(5000);
  expect(place()).toBe(1);
});
