import { describe, expect, it } from "vitest";
import { ApiError, asApiError, errorOf } from "./errors";

describe("an answer of the API", () => {
  it("is shown in its own words", () => {
    const error = errorOf(404, {
      error: {
        code: "not_found",
        message: 'There is no repo "x".',
        hint: "List them.",
        request_id: "r1",
        more: 1,
      },
    });
    expect(error).toMatchObject({
      status: 404,
      code: "not_found",
      message: 'There is no repo "x".',
      hint: "List them.",
      requestId: "r1",
      facts: { more: 1 },
    });
  });
  it.each([null, undefined, "text", {}, { error: "text" }])(
    "without an error in it (%j) says so",
    (body) => {
      expect(errorOf(502, body).message).toBe("The server answered 502 without saying why.");
    },
  );
});

it("tells a server that is away from a bug", () => {
  expect(asApiError(new TypeError("Failed to fetch")).code).toBe("unreachable");
  expect(asApiError(new TypeError("Load failed")).code).toBe("unreachable");
  expect(asApiError(new TypeError("x is not a function")).code).toBe("failed");
  expect(asApiError(new Error("odd")).message).toBe("odd");
  const same = new ApiError(400, "usage", "no");
  expect(asApiError(same)).toBe(same);
});
