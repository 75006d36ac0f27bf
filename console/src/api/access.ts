import { queryOptions } from "@tanstack/react-query";
import { api, data } from "./client";
import { key } from "./keys";

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
};

export const logout = () => data(api.POST("/api/v1/logout"));
