/** What the API said when it refused: shown to people in its own words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint = "",
    readonly requestId = "",
    readonly facts: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** The error in an answer of the API, whatever came instead of one. */
export function errorOf(status: number, body: unknown): ApiError {
  const found = (body as { error?: Record<string, unknown> } | null | undefined)?.error;
  if (found && typeof found === "object") {
    const { code, message, hint, request_id, ...facts } = found;
    return new ApiError(
      status,
      String(code ?? "failed"),
      String(message ?? ""),
      String(hint ?? ""),
      String(request_id ?? ""),
      facts,
    );
  }
  return new ApiError(status, "failed", `The server answered ${status} without saying why.`);
}

/** How Chromium, Firefox and Safari say that nobody answered; other TypeErrors are bugs. */
const UNREACHABLE = /fetch|NetworkError|Load failed/i;

/** Any error as one. What never reached the server is said to be so. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof TypeError && UNREACHABLE.test(error.message)) {
    return new ApiError(0, "unreachable", "The server cannot be reached.", "Is it running?");
  }
  return new ApiError(0, "failed", error instanceof Error ? error.message : String(error));
}
