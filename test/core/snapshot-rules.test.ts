import { describe, expect, it } from "vitest";
import { holdsSlot, validateSnapshot } from "../../src/core/snapshot-rules.ts";
import { createSnapshot } from "../../src/core/snapshot.ts";
import type { TaskSnapshot } from "../../src/core/snapshot.ts";
import { VERB_TABLE } from "../../src/core/verbs.ts";
import type { VerbRow } from "../../src/core/verbs.ts";
import { taskAt } from "./task-at.ts";

const ROWS = Object.keys(VERB_TABLE) as VerbRow[];

describe("createSnapshot", () => {
  it("is pending at version 0 with nothing done yet", () => {
    const task = createSnapshot({ taskId: "t1", name: "extract", createdAt: 5, maxAttempts: 2 });
    expect(task).toMatchObject({
      status: "pending",
      statusVersion: 0,
      attempt: 0,
      maxAttempts: 2,
      attemptBudget: 2,
      epoch: 0,
      priority: 0,
      tags: [],
      fencingToken: 0,
      createdAt: 5,
    });
    expect(task).toMatchObject({ pipelineRunId: null, node: null, bucket: null, bucketKey: null, availableAt: null, overridden: false, needsDecision: false });
  });

  it("keeps what it was given", () => {
    const given = { pipelineRunId: "r1", node: "clean", tags: ["io"], priority: -3, bucket: 4, bucketKey: "tenant", availableAt: 99 };
    expect(createSnapshot({ taskId: "t1", name: "extract", createdAt: 5, maxAttempts: 1, ...given })).toMatchObject(given);
  });
});

describe("holdsSlot", () => {
  it("by status alone, a paused task only where it was paused in place", () => {
    expect(ROWS.filter((row) => holdsSlot(taskAt(row)))).toEqual(["starting", "running", "pausing", "paused (in place)", "stopping"]);
  });
});

describe("validateSnapshot", () => {
  it.each(ROWS)("finds nothing wrong with a task that events brought to %s", (row) => {
    expect(validateSnapshot(taskAt(row))).toEqual([]);
  });

  const BROKEN: readonly { readonly row: VerbRow; readonly change: Partial<TaskSnapshot>; readonly says: string }[] = [
    { row: "running", change: { startedAt: null }, says: "an occupied task has a start time" },
    { row: "paused (in place)", change: { startedAt: null }, says: "an occupied task has a start time" },
    { row: "running", change: { owner: null }, says: "an occupied task has an owner, and only such a task" },
    { row: "queued", change: { owner: "n1:1" }, says: "an occupied task has an owner, and only such a task" },
    { row: "running", change: { attempt: 0 }, says: "an occupied task has begun an attempt" },
    { row: "failed", change: { endedAt: null }, says: "a terminal task has an end time, and only such a task" },
    { row: "running", change: { endedAt: 9 }, says: "a terminal task has an end time, and only such a task" },
    { row: "pausing", change: { pausedFrom: null }, says: "pausedFrom is set while pausing or paused, and only then" },
    { row: "queued", change: { pausedFrom: "queued" }, says: "pausedFrom is set while pausing or paused, and only then" },
    { row: "pausing", change: { requestedAction: null }, says: "a pause is wished exactly while pausing" },
    { row: "running", change: { requestedAction: "pause" }, says: "a pause is wished exactly while pausing" },
    { row: "stopping", change: { requestedAction: null }, says: "a stop or cancel is wished exactly while stopping" },
    { row: "running", change: { requestedAction: "stop" }, says: "a stop or cancel is wished exactly while stopping" },
    { row: "queued", change: { requestedAction: "cancel" }, says: "a stop or cancel is wished exactly while stopping" },
    { row: "queued", change: { queuedAt: null }, says: "a queued task has a queue time" },
    { row: "retry_wait", change: { availableAt: null }, says: "a task that waits to retry knows until when and why" },
    { row: "retry_wait", change: { failure: null }, says: "a task that waits to retry knows until when and why" },
    { row: "failed", change: { failure: null }, says: "a failed or lost task has a failure" },
    { row: "lost", change: { failure: null }, says: "a failed or lost task has a failure" },
    { row: "succeeded", change: { failure: taskAt("failed").failure }, says: "a succeeded task has no failure" },
    { row: "running", change: { attempt: 4 }, says: "attempts stay within the budget" },
    { row: "queued", change: { attempt: -1 }, says: "attempts stay within the budget" },
    { row: "queued", change: { attempt: 0.5 }, says: "attempts stay within the budget" },
    { row: "queued", change: { attempt: Number.NaN }, says: "attempts stay within the budget" },
    { row: "queued", change: { statusVersion: -1 }, says: "the version is a whole number" },
    { row: "queued", change: { statusVersion: 1.5 }, says: "the version is a whole number" },
  ];

  it.each(BROKEN)("$row with $change: $says", ({ row, change, says }) => {
    expect(validateSnapshot({ ...taskAt(row), ...change })).toEqual([says]);
  });

  it("names every rule that is broken", () => {
    expect(validateSnapshot({ ...taskAt("running"), startedAt: null, owner: null, requestedAction: "pause" })).toHaveLength(3);
  });
});
