import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.TRUNKLINE_SERVER ?? "http://127.0.0.1:8470";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "~": new URL("./src", import.meta.url).pathname } },
  build: {
    outDir: "../src/trunkline/console",
    emptyOutDir: true,
    // Nothing inline: the page's Content-Security-Policy allows files of our own only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  worker: { format: "es" },
  server: { proxy: { "/api": { target: server, changeOrigin: false } } },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["src/testing/setup.ts"],
    restoreMocks: true,
  },
});
