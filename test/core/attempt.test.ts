import { describe, expect, it } from "vitest";
import { closeAttempt, NO_TIMES, openAttempt } from "../../src/core/attempt.ts";
import { abandoned, boom, taskAt } from "./task-at.ts";

describe("openAttempt", () => {
  it("begins with what is known at the start, and no end", () => {
    const task = { ...taskAt("starting"), startedAt: 1_500, epoch: 2 };
    expect(openAttempt(task)).toEqual({
      taskId: "t1",
      epoch: 2,
      attempt: 1,
      executor: "async",
      pid: null,
      owner: "n1:1",
      startedAt: 1_500,
      endedAt: null,
      durationMs: null,
      endedAs: null,
      failure: null,
      forced: false,
      ...NO_TIMES,
    });
  });

  it("falls back on the time of creation where no start is known", () => {
    expect(openAttempt({ ...taskAt("pending"), createdAt: 3 }).startedAt).toBe(3);
  });
});

describe("closeAttempt", () => {
  const running = { ...taskAt("running"), startedAt: 1_500 };

  it("keeps who ran it, and says when and how it ended", () => {
    expect(closeAttempt(running, { ...taskAt("failed"), failure: boom }, 4_000)).toMatchObject({
      attempt: 1,
      pid: 42,
      owner: "n1:1",
      startedAt: 1_500,
      endedAt: 4_000,
      durationMs: 2_500,
      endedAs: "failed",
      failure: boom,
      forced: false,
    });
  });

  it("has no negative duration where the wall clock was set back", () => {
    expect(closeAttempt(running, taskAt("succeeded"), 1_000)).toMatchObject({ endedAt: 1_000, durationMs: 0 });
  });

  it("says where the carrier was ended by force", () => {
    expect(closeAttempt(running, { ...taskAt("stopped"), failure: { ...boom, forced: true } }, 2_000).forced).toBe(true);
    expect(closeAttempt(running, { ...taskAt("lost"), failure: abandoned }, 2_000).forced).toBe(false);
  });
});
