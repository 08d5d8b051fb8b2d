import { describe, expect, test } from "vitest";
import { Controller } from "../../src/api/controller.ts";
import type { ControllerOptions } from "../../src/api/options.ts";
import { task } from "../../src/api/task.ts";
import { ConfigurationError } from "../../src/core/errors.ts";
import { exponential } from "../../src/core/policies/backoff.ts";

// Heartbeat and lease come with the stores that are shared; here are the settings that exist.
const NONSENSE: readonly unknown[] = [0, -1, 1.5, "4", Number.NaN, Number.POSITIVE_INFINITY, null, {}, true];
const BAD_TIMES: readonly unknown[] = [0, -1, Number.NaN, Number.POSITIVE_INFINITY, "soon", null, {}, true];

describe("C019: a setting that makes no sense is refused where it is made, by its name", () => {
  test.each(NONSENSE)("concurrency of %o", async (value) => {
    for (const [name, concurrency] of Object.entries({
      maxParallel: { maxParallel: value },
      "limits.db": { limits: { db: value } },
      perBucket: { perBucket: value },
    })) {
      const error: unknown = await Controller.open({ concurrency } as ControllerOptions).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error).toMatchObject({ code: "CONFIGURATION", exitCode: 2, message: expect.stringContaining(name.split(".").at(-1) ?? name) });
    }
  });

  test.each(["start", "attempt", "idle"])("a %s timeout", (scope) => {
    for (const value of BAD_TIMES) {
      const timeout: object = { [scope]: value };
      expect(() => task({ name: "t", timeout }, () => 1)).toThrow(ConfigurationError);
      expect(() => task({ name: "t", timeout }, () => 1)).toThrow(scope);
    }
  });

  test.each([0, -1, 1.5, "4", Number.NaN, Number.POSITIVE_INFINITY])("maxAttempts of %o", (maxAttempts) => {
    const retry: object = { maxAttempts };
    expect(() => task({ name: "t", retry }, () => 1)).toThrow(/maxAttempts/);
  });

  test.each([
    ["base", { base: -1 }],
    ["factor", { base: 1, factor: 0 }],
    ["factor", { base: 1, factor: Number.NaN }],
    ["max", { base: "1m", max: "1s" }],
    ["jitter", { base: 1, jitter: "some" }],
  ])("a backoff's %s", (name, options) => {
    expect(() => exponential(options as Parameters<typeof exponential>[0])).toThrow(name);
  });

  test("a grace or a pause timeout that is none starts nothing and changes nothing", async () => {
    const waits = task({ name: "waits" }, async (ctx) => {
      await new Promise<void>((resolve) => {
        ctx.signal.addEventListener("abort", () => resolve());
      });
    });
    const controller = await Controller.open({ tasks: [waits] });
    const { id } = await controller.submit(waits);
    await controller.wait(id, { for: "running", timeout: "10s" });
    for (const grace of [-1, Number.NaN, Number.POSITIVE_INFINITY, "soon"]) {
      await expect(controller.stop(id, { grace: grace as number })).rejects.toThrow(/grace/);
      await expect(controller.pause(id, { timeout: grace as number })).rejects.toThrow(/timeout/);
      await expect(controller.close({ grace: grace as number })).rejects.toThrow(/grace/);
    }
    expect((await controller.get(id)).status).toBe("running");
    await controller.close();
  });
});
