import { expect } from "vitest";
import type { AttemptRecord, Controller, TaskSnapshot, TaskStatusChanged } from "../../../src/index.ts";
import { canTransition, isTerminal } from "../../../src/index.ts";
import { validateSnapshot } from "../../../src/core/snapshot-rules.ts";
import { eventually } from "./eventually.ts";
import { isThere } from "./leftovers.ts";

/** What must hold of every task that has ended, whatever was done to it. Answers with its row. */
export async function expectSound(controller: Controller, taskId: string): Promise<TaskSnapshot> {
  const snapshot = await controller.wait(taskId, { timeout: "15s" });
  const [history, attempts] = await Promise.all([controller.history(taskId), controller.attempts(taskId)]);
  expect(validateSnapshot(snapshot)).toEqual([]);
  expectLegal(history, snapshot);
  expect(attempts.map((attempt) => attempt.attempt)).toEqual(Array.from({ length: snapshot.attempt }, (_, index) => index + 1));
  for (const attempt of attempts) expectComplete(attempt, history);
  await expectCarriersGone(snapshot, attempts);
  return snapshot;
}

/** Steps without a gap, along the edges of the table; terminal only at the end or before a revival. */
function expectLegal(history: readonly TaskStatusChanged[], snapshot: TaskSnapshot): void {
  const told = history.map((step) => `${step.from} → ${step.to}`).join(", ");
  expect(history.map((step) => step.statusVersion)).toEqual(history.map((_, index) => index + 1));
  expect(snapshot.statusVersion).toBe(history.length);
  for (const [index, step] of history.entries()) {
    expect(step.from, told).toBe(index === 0 ? "pending" : history[index - 1]?.to);
    expect(step.kind === "revive" ? isTerminal(step.from) : canTransition(step.from, step.to), told).toBe(true);
  }
  const ends = history.filter((step) => isTerminal(step.to)).length;
  expect(ends, told).toBe(1 + history.filter((step) => step.kind === "revive").length);
  expect(history.at(-1)?.to, told).toBe(snapshot.status);
}

/** A record that has been closed, and says what its carrier was. */
function expectComplete(attempt: AttemptRecord, history: readonly TaskStatusChanged[]): void {
  const { startedAt, endedAt, durationMs, executor, endedAs, failure, forced, owner } = attempt;
  expect(endedAt).not.toBeNull();
  expect(durationMs).toBe((endedAt ?? 0) - startedAt);
  expect(owner).toMatch(/^[0-9a-z]{16}:1$/);
  expect(executor).toMatch(/^(inline|async|thread|process)$/);
  expect(history.filter((step) => step.attempt === attempt.attempt).map((step) => step.to)).toContain(endedAs);
  expect(failure === null).toBe(endedAs === "succeeded");
  expect(forced).toBe(failure?.forced ?? false);
  // A child that was ended before it had said that it runs is not on the record by its number.
  const ran = history.some((step) => step.attempt === attempt.attempt && step.to === "running");
  if (executor === "process" && ran) expect(attempt.pid).toBeGreaterThan(1);
  if (executor !== "process") expect(attempt.pid).toBeNull();
  for (const [asked, seen] of [
    [attempt.stopAskedAt, attempt.stopSeenAt],
    [attempt.pauseAskedAt, attempt.pauseSeenAt],
  ] as const) {
    if (asked !== null && seen !== null) expect(seen).toBeGreaterThanOrEqual(asked);
  }
}

/** The children of ended attempts are gone, or idle and to be used again, within a second. */
async function expectCarriersGone(snapshot: TaskSnapshot, attempts: readonly AttemptRecord[]): Promise<void> {
  if (snapshot.status === "lost") return;
  for (const { pid } of attempts) if (pid !== null) await eventually(`child ${pid} is gone`, () => !isThere(pid), 2_000);
}
