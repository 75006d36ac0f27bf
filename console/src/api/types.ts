import type { components } from "./schema";

type Schemas = components["schemas"];

/** A type of the API by its name: `Schema<"Job">`. */
export type Schema<Name extends keyof Schemas> = Schemas[Name];

export type RepoName = Schema<"RepoName">;
export type Repo = Schema<"Repo">;
export type Commit = Schema<"Commit">;
export type Branch = Schema<"Branch">;
export type Tag = Schema<"Tag">;
export type Job = Schema<"Job">;
export type PipelineInfo = Schema<"PipelineInfo">;
export type FileInfo = Schema<"FileInfo">;
export type TableInfo = Schema<"TableInfo">;
export type RowsPage = Schema<"RowsPage">;
export type LogLine = Schema<"LogLine">;
export type DatumInfo = Schema<"DatumInfo">;
export type CheckRecord = Schema<"CheckRecord">;
export type StreamStatus = Schema<"StreamStatus">;
export type IngestStatus = Schema<"IngestStatus">;
export type Batch = Schema<"Batch">;
export type Event = Schema<"Event">;
export type Principal = Schema<"Principal">;

export interface Page<Item> {
  items: Item[];
  next?: string | null;
}
