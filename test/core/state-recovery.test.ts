import { describe, expect, it } from "vitest";
import { AttemptsExhausted, CarrierAbandoned, ConfigurationError } from "../../src/core/errors.ts";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import { FORCE_TARGETS } from "../../src/core/state-recovery.ts";
import { TASK_STATUSES } from "../../src/core/status.ts";
import type { TaskStatus } from "../../src/core/status.ts";
import { VERB_TABLE } from "../../src/core/verbs.ts";
import type { VerbRow } from "../../src/core/verbs.ts";
import { NOW_MS, abandoned, accept, after, refuse, refuseTransition, taskAt } from "./task-at.ts";

const ROWS = Object.keys(VERB_TABLE) as VerbRow[];
const OCCUPIED: ReadonlySet<VerbRow> = new Set<VerbRow>(["starting", "running", "pausing", "paused (in place)", "stopping"]);
const ENDED: ReadonlySet<VerbRow> = new Set<VerbRow>(["succeeded", "failed", "stopped", "cancelled", "skipped", "lost"]);
const TARGETS = ["pending", "queued", "succeeded", "failed", "stopped", "cancelled", "skipped", "lost"] as const satisfies readonly TaskStatus[];
const orphaned = after(taskAt("running"), { type: "lost", failure: abandoned });

function force(to: TaskStatus, more: { readonly force?: boolean; readonly outcome?: { readonly value: unknown } } = {}): LifecycleEvent {
  return { type: "force", to, actor: "ada", reason: "checked by hand", ...more };
}

describe("force", () => {
  it("leads to the terminal statuses, pending and queued, and nowhere else", () => {
    expect([...FORCE_TARGETS].toSorted()).toEqual([...TARGETS].toSorted());
    for (const to of TASK_STATUSES.filter((status) => !TARGETS.some((target) => target === status))) {
      const error = refuse(taskAt("running"), force(to));
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error.message).toContain(`not to "${to}"`);
    }
  });

  it.each([
    { actor: "", reason: "checked" },
    { actor: " \t", reason: "checked" },
    { actor: "ada", reason: "" },
    { actor: "ada", reason: " \n" },
    { actor: "ada", reason: null },
    { actor: "ada" },
    { reason: "checked" },
    {},
  ])("is refused without a name and a reason: %j", (by) => {
    const error = refuse(taskAt("running"), { type: "force", to: "failed", ...by });
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error.message).toContain("actor and a reason");
  });

  it.each(ROWS.flatMap((row) => TARGETS.map((to) => ({ row, to }))))("$row → $to, on record as an override", ({ row, to }) => {
    const before = taskAt(row);
    const { snapshot, transitions, attempt } = accept(before, force(to));
    expect(transitions).toHaveLength(1);
    expect(transitions[0]).toMatchObject({ kind: "override", from: before.status, to, trigger: "user:force", actor: "ada", reason: "checked by hand" });
    expect(snapshot).toMatchObject({
      status: to,
      statusVersion: before.statusVersion + 1,
      overridden: true,
      needsDecision: false,
      requestedAction: null,
      pausedFrom: null,
      owner: null,
      fencingToken: before.fencingToken + 1,
      abandonedBy: OCCUPIED.has(row) ? "n1:1" : null,
      attempt: before.attempt,
    });
    if (OCCUPIED.has(row)) expect(attempt).toMatchObject({ attempt: 1, endedAs: to, endedAt: NOW_MS });
    else expect(attempt).toBeNull();
  });

  it.each(["pending", "queued"] as const)("to %s grants a fresh budget and clears the last attempt", (to) => {
    const { snapshot } = accept(taskAt("failed", { maxAttempts: 2 }), force(to), 2_000);
    expect(snapshot).toMatchObject({ attempt: 1, maxAttempts: 3, failure: null, endedAt: null, startedAt: null, queuedAt: to === "queued" ? 2_000 : null });
  });

  it("to succeeded takes a value, or says by whom it was left out", () => {
    expect(accept(taskAt("failed"), force("succeeded", { outcome: { value: 7 } })).snapshot).toMatchObject({ outcome: 7, outcomeMissing: null, failure: null });
    expect(accept(taskAt("failed"), force("succeeded")).snapshot).toMatchObject({
      outcome: undefined,
      outcomeMissing: "forced to succeeded by ada without an outcome",
      failure: null,
    });
  });

  it("to skipped takes a value, or says by whom it was left out", () => {
    expect(accept(taskAt("running"), force("skipped", { outcome: { value: undefined } })).snapshot).toMatchObject({
      skippedBy: "ada",
      outcome: undefined,
      outcomeMissing: null,
    });
    expect(accept(taskAt("failed"), force("skipped")).snapshot).toMatchObject({
      skippedBy: "ada",
      outcomeMissing: "skipped by ada without an outcome",
      failure: null,
    });
  });

  it.each([
    { to: "failed", kind: "exception" },
    { to: "lost", kind: "lost" },
    { to: "stopped", kind: "cancelled" },
    { to: "cancelled", kind: "cancelled" },
  ] as const)("to $to leaves a failure of kind $kind that names the person, and no value", ({ to, kind }) => {
    const { snapshot } = accept(taskAt("succeeded"), force(to));
    expect(snapshot.failure).toMatchObject({ kind, message: `forced to ${to} by ada: checked by hand`, retryable: false });
    expect(snapshot.outcome).toBeUndefined();
  });

  it("of what is not occupied keeps the orphan on record", () => {
    expect(after(orphaned, force("failed")).abandonedBy).toBe("n1:1");
  });

  it.each(["pending", "queued"] as const)("to %s asks for force while an abandoned body may still run", (to) => {
    expect(refuse(orphaned, force(to))).toBeInstanceOf(CarrierAbandoned);
    expect(after(orphaned, force(to, { force: true }))).toMatchObject({ status: to, abandonedBy: "n1:1" });
  });

  it("answers a task that waits for a person's decision", () => {
    expect(after({ ...taskAt("lost"), needsDecision: true }, force("failed")).needsDecision).toBe(false);
  });

  it("stays marked through what follows by itself, and the next revive clears it", () => {
    const forced = after(taskAt("running"), force("failed"));
    expect(forced.overridden).toBe(true);
    expect(after(forced, { type: "retry", force: true }).overridden).toBe(false);
    expect(after(forced, { type: "skip" }).overridden).toBe(false);
    expect(after(forced, { type: "rerun", force: true }).overridden).toBe(false);
    expect(after(forced, { type: "reset", force: true }).overridden).toBe(false);
  });
});

describe.each(["requeue", "retryLost"] as const)("%s: a lost task runs again by itself", (type) => {
  it("within the budget, by the system", () => {
    const { snapshot, transitions } = accept(taskAt("lost"), { type }, 2_000);
    expect(snapshot).toMatchObject({ status: "queued", queuedAt: 2_000, attempt: 1, maxAttempts: 3, failure: null });
    expect(transitions[0]).toMatchObject({ kind: "revive", from: "lost", actor: "system", trigger: type === "requeue" ? "reconcile:requeue" : "retry:lost" });
  });

  it("never past the budget: what kills its supervisors runs out of it", () => {
    const error = refuse(taskAt("lost", { maxAttempts: 1 }), { type });
    expect(error).toBeInstanceOf(AttemptsExhausted);
    expect(refuse(taskAt("lost", { maxAttempts: 1 }), { type, force: true })).toBeInstanceOf(AttemptsExhausted);
  });

  it("not beside an abandoned body, but by force", () => {
    expect(refuse(orphaned, { type })).toBeInstanceOf(CarrierAbandoned);
    expect(after(orphaned, { type, force: true }).status).toBe("queued");
  });

  it.each(ROWS.filter((row) => row !== "lost"))("is refused while %s", (row) => {
    expect(refuseTransition(taskAt(row), { type }).requested).toBe(type);
  });
});

describe("rerun: a node below a retried one", () => {
  it.each([...ENDED])("brings a %s task back to pending with its history and a fresh budget", (row) => {
    const before = taskAt(row, { maxAttempts: 2 });
    const { snapshot, transitions } = accept(before, { type: "rerun" });
    expect(transitions[0]).toMatchObject({ kind: "revive", from: row, to: "pending", trigger: "pipeline:rerun" });
    expect(snapshot).toMatchObject({
      status: "pending",
      attempt: before.attempt,
      maxAttempts: before.attempt + 2,
      epoch: 0,
      endedAt: null,
      failure: null,
      skippedBy: null,
    });
    expect(snapshot.outcome).toBeUndefined();
    expect(snapshot.outcomeMissing).toBeNull();
  });

  it.each(ROWS.filter((row) => !ENDED.has(row)))("is refused while %s", (row) => {
    expect(refuseTransition(taskAt(row), { type: "rerun" }).requested).toBe("rerun");
  });

  it("not beside an abandoned body, but by force", () => {
    expect(refuse(orphaned, { type: "rerun" })).toBeInstanceOf(CarrierAbandoned);
    expect(after(orphaned, { type: "rerun", force: true }).status).toBe("pending");
  });
});
