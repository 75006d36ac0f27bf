import { expect, test } from "vitest";
import { wasThere } from "./then";

const THEN = { set: "b", time: "2026-01-01T12:00:00Z" };

test("jobs of before, and those of the moment itself", () => {
  expect(wasThere({ id: "a", created: "2026-01-01T11:00:00Z" }, THEN)).toBe(true);
  expect(wasThere({ id: "b", created: "2026-01-01T12:00:01Z" }, THEN)).toBe(true);
  expect(wasThere({ id: "c", created: "2026-01-01T13:00:00Z" }, THEN)).toBe(false);
  expect(wasThere({ id: "c", created: "2026-01-01T13:00:00Z" }, undefined)).toBe(true);
});
