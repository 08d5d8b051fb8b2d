import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TaskStatus } from "../../src/index.ts";
import { validateSnapshot } from "../../src/core/snapshot-rules.ts";
import { TASK_STATUSES } from "../../src/core/status.ts";
import { BY, ForceStage, ROWS } from "./force-stage.ts";
import { call } from "./stage.ts";

const TARGETS = ["succeeded", "failed", "stopped", "cancelled", "skipped", "lost", "pending", "queued"] as const satisfies readonly TaskStatus[];

let stage: ForceStage;

beforeEach(async () => {
  stage = await ForceStage.open();
});

afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

describe.each(ROWS)("from %s", (row) => {
  test.each(TARGETS)("to %s: the task is there at once, on the record, and nothing is left when the bodies have ended", async (to) => {
    const id = await stage.bring(row);
    const isHeld = row === "starting";
    const before = isHeld ? null : await stage.get(id);
    const answer = stage.force(id, to);
    await stage.clock.advance(0);
    if (isHeld) {
      stage.barrier?.release();
      await stage.clock.advance(0);
    }
    const after = await answer;
    expect(after).toMatchObject({ status: to, overridden: true });
    expect(validateSnapshot(after)).toEqual([]);
    if (before !== null) expect(after).toMatchObject({ statusVersion: before.statusVersion + 1, fencingToken: before.fencingToken + 1 });

    const step = (await stage.controller.history(id)).find(({ statusVersion }) => statusVersion === after.statusVersion);
    expect(step).toMatchObject({ kind: "override", to, trigger: "user:force", ...BY });
    expect(stage.events.filter(({ type }) => type === "AdminOverride")).toMatchObject([{ taskId: id, from: step?.from, to, ...BY }]);

    await stage.endAll();
    const { status, abandonedBy } = await stage.get(id);
    expect([status, abandonedBy]).toEqual([to === "queued" ? (await stage.get(id)).status : to, null]);
    expect(stage.controller.orphans).toEqual([]);
    await stage.expectOneSlot();
  });

  test("to anything else: refused, and nothing has changed", async () => {
    const id = await stage.bring(row);
    stage.barrier?.release();
    await stage.clock.advance(0);
    const before = await stage.get(id);
    const others = TASK_STATUSES.filter((status) => !(TARGETS as readonly string[]).includes(status));
    expect(others).toHaveLength(7);
    for (const to of others)
      await expect(stage.force(id, to)).rejects.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining(`not to "${to}"`) });
    for (const blank of [{}, { actor: "ada" }, { reason: "because" }, { actor: " ", reason: "because" }, { actor: "ada", reason: "\t" }, undefined]) {
      await expect(call(stage.controller, "forceTransition", [id, "failed", blank])).rejects.toMatchObject({ code: "CONFIGURATION" });
    }
    await expect(call(stage.controller, "forceTransition", [id, "done", BY])).rejects.toMatchObject({ code: "CONFIGURATION" });
    const valueless = TARGETS.filter((to) => to !== "succeeded" && to !== "skipped");
    for (const to of valueless)
      await expect(stage.force(id, to, { outcome: 1 })).rejects.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("outcome") });
    expect(await stage.get(id)).toEqual(before);
    expect(stage.events.filter(({ type }) => type === "AdminOverride")).toEqual([]);
    expect(stage.controller.orphans).toEqual([]);
  });
});
