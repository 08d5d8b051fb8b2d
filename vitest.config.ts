import { defineConfig } from "vitest/config";

// On some machines this makes each start of Node slower; tests fork many.
delete process.env["NODE_EXTRA_CA_CERTS"];

const long = process.env["CHONGMING_LONG"] === "1";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/fixtures/**"],
    testTimeout: long ? 600_000 : 20_000,
    hookTimeout: 30_000,
    retry: 0,
    restoreMocks: true,
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reporter: ["text-summary", "json-summary", "html"],
      thresholds: {
        lines: 85,
        branches: 85,
        functions: 85,
        "src/core/**/*.ts": { branches: 95 },
        "src/core/transitions.ts": { lines: 100, branches: 100, functions: 100, statements: 100 },
      },
    },
  },
});
