import { expect, test } from "vitest";
import { Stage } from "../carriers/support/stage.ts";
import { expectNoneLeft, marked, markDescendants } from "../carriers/support/leftovers.ts";
import type { Holdings } from "./support/holdings.ts";
import { Host } from "./support/host.ts";

const mark = markDescendants();

interface Round {
  readonly before: Holdings;
  readonly after: Holdings;
  readonly statuses: readonly string[];
}

test("a controller that is closed with everything in flight leaves nothing, and its process ends by itself", { timeout: 60_000 }, async () => {
  using stage = new Stage();
  await using host = new Host("shutdown.ts", [stage.folder], { TMPDIR: stage.folder });
  for (const name of ["round 0", "round 1"]) {
    const { before, after, statuses } = (await host.says(name)) as Round;
    // What was running ends stopped, what had not begun cancelled; by itself only the dead children have ended.
    expect(new Set(statuses)).toEqual(new Set(["stopped", "cancelled", "failed"]));
    expect(after.resources).toEqual(before.resources);
    expect(after.listeners).toEqual(before.listeners);
    expect(after.temporaryFolders).toEqual([]);
    expect(after.descriptors).toEqual(before.descriptors);
    expect(after.threads).toBe(before.threads);
  }
  expect(marked(mark)).toEqual([host.child.pid]);
  expect(await host.says("idleForMs")).toBeLessThan(200);
  expect(await host.end()).toEqual({ exitCode: 0, signal: null, stderr: "" });
  await expectNoneLeft(mark, 500);
});

test("timers of tasks that ended early keep no process: it ends within 200 ms", { timeout: 60_000 }, async () => {
  using stage = new Stage();
  await using host = new Host("early-ends.ts", [], { TMPDIR: stage.folder });
  const { statuses, before, after } = (await host.says("ends")) as {
    readonly statuses: readonly string[];
    readonly before: readonly string[];
    readonly after: readonly string[];
  };
  expect(statuses).toEqual(["succeeded", "failed", "stopped", "succeeded", "succeeded", "failed"]);
  expect(after).toEqual(before);
  expect(await host.says("idleForMs")).toBeLessThan(200);
  expect(await host.end()).toEqual({ exitCode: 0, signal: null, stderr: "" });
});
