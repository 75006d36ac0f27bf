/** Who one is, and who else there is: users, roles, tokens, and what they did. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { api, data, everything } from "./client";
import { key } from "./keys";
import type { Schema } from "./types";

export type User = Schema<"User">;
export type Grant = Schema<"Grant">;
export type Role = Schema<"Role">;
export type TokenInfo = Schema<"TokenInfo">;
export type NewToken = Schema<"NewToken">;
export type AuditEntry = Schema<"AuditEntry">;

export interface AuditFilter {
  who?: string;
  action?: string;
  outcome?: string;
}

const MOST = 1000;

export const accessQueries = {
  whoami: () =>
    queryOptions({
      queryKey: key("access", null, "whoami"),
      queryFn: () => data(api.GET("/api/v1/whoami")),
      staleTime: 300_000,
    }),
  info: () =>
    queryOptions({
      queryKey: key("info", null),
      queryFn: () => data(api.GET("/api/v1/info")),
      staleTime: 60_000,
    }),
  /** How one logs in here, and whether there is anybody yet. */
  ways: () =>
    queryOptions({
      queryKey: key("access", null, "ways"),
      queryFn: () => data(api.GET("/api/v1/login")),
    }),
  users: () =>
    queryOptions({
      queryKey: key("access", null, "users"),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/users", { params: { query: { cursor, limit: MOST } } })),
        ),
    }),
  /** One's own; for an admin everybody's. */
  tokens: () =>
    queryOptions({
      queryKey: key("access", null, "tokens"),
      queryFn: () =>
        everything((cursor) =>
          data(api.GET("/api/v1/tokens", { params: { query: { cursor, limit: MOST } } })),
        ),
    }),
  audit: (filter: AuditFilter) =>
    infiniteQueryOptions({
      queryKey: key("access", null, "audit", filter),
      queryFn: ({ pageParam }) =>
        data(
          api.GET("/api/v1/audit", {
            params: { query: { ...filter, limit: 200, cursor: pageParam } },
          }),
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: (last) => last.next ?? undefined,
      // No event tells of it.
      staleTime: 0,
    }),
};

export const login = (name: string, password: string) =>
  data(api.POST("/api/v1/login", { body: { name, password } }));

export const logout = () => data(api.POST("/api/v1/logout"));

/** Makes the first user, with the token that the server printed when it started. */
export const setUp = (token: string, name: string, password: string) =>
  data(api.POST("/api/v1/setup", { body: { token, name, password } }));

export const createUser = (user: {
  name: string;
  email: string;
  password: string | null;
  roles: Record<string, string>;
}) => data(api.POST("/api/v1/users", { body: user }));

export const setDisabled = (name: string, disabled: boolean) =>
  data(api.PATCH("/api/v1/users/{name}", { params: { path: { name } }, body: { disabled } }));

export const deleteUser = (name: string) =>
  data(api.DELETE("/api/v1/users/{name}", { params: { path: { name } } }));

export const setPassword = (name: string, password: string, current: string | null) =>
  data(
    api.PUT("/api/v1/users/{name}/password", {
      params: { path: { name } },
      body: { password, current },
    }),
  );

export const grant = (user: string, role: string, scope: string) =>
  data(api.PUT("/api/v1/grants", { body: { user, role, scope } }));

export const revokeGrant = (user: string, scope: string) =>
  data(api.DELETE("/api/v1/grants", { params: { query: { user, scope } } }));

export const createToken = (order: {
  note: string;
  expires: number | null;
  limits: Record<string, string> | null;
  owner: string | null;
}) => data(api.POST("/api/v1/tokens", { body: order }));

export const revokeToken = (token: string) =>
  data(api.DELETE("/api/v1/tokens/{token}", { params: { path: { token } } }));
