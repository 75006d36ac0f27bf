import type { IngestStatus, StreamStatus } from "~/api/types";
import { Failure, Note } from "~/ui/Messages";

/** Why a stream or an ingest is as it is. */
export function Reason({ of: { state, reason } }: { of: StreamStatus | IngestStatus }) {
  if (!reason) return null;
  return state === "failed" ? <Failure error={new Error(reason)} /> : <Note>{reason}</Note>;
}
