import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The service that answers /api while the app is developed: `sightline serve STORE`.
const api = process.env["SIGHTLINE_API"] ?? "http://127.0.0.1:8000";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/sightline/api/static",
    emptyOutDir: true,
    // What others wrote is inside what is built: their licences ask to be named with it.
    license: { fileName: "licences.md" },
    target: "es2022",
    // From these on browsers know light-dark(): what stands in for it would ignore `data-theme` of parts.
    cssTarget: ["chrome123", "edge123", "firefox120", "safari17.5"],
    // Inlined files would be data: addresses, which the service's content policy forbids.
    assetsInlineLimit: 0,
  },
  // The service takes decisions only from pages of the host that is asked: the name stays.
  server: { proxy: { "/api": { target: api, changeOrigin: false } } },
  test: {
    environment: "jsdom",
    // One window for the files of a worker: making one takes longer than the tests themselves.
    pool: "threads",
    isolate: false,
    maxWorkers: 2,
    include: ["src/**/*.test.{ts,tsx}"],
  },
});
