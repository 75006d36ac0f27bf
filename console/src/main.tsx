import "@fontsource-variable/inter/index.css";
import "@fontsource-variable/jetbrains-mono/index.css";
import "./styles/tokens.css";
import "./styles/base.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { setNonce } from "get-nonce";
import { Tooltip } from "radix-ui";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RouterProvider } from "react-router/dom";
import { ApiError } from "./api/errors";
import { router } from "./app/routes";
import { nonce } from "./lib/nonce";
import { applyTheme } from "./lib/theme";

applyTheme();
setNonce(nonce);

const TRIES = 2;
const client = new QueryClient({
  defaultOptions: {
    queries: {
      // Events say when something has changed; this is for what they do not tell.
      staleTime: 30_000,
      // What was refused is refused again; only what was unavailable is worth another try.
      retry: (failures, error) =>
        failures < TRIES && !(error instanceof ApiError && error.status < 500 && error.status > 0),
    },
  },
});

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <Tooltip.Provider>
        <RouterProvider router={router} />
      </Tooltip.Provider>
    </QueryClientProvider>
  </StrictMode>,
);
