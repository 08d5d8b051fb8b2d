import { describe, expect, expectTypeOf, it } from "vitest";
import { EVENT_TYPES, WARNING_CODES } from "../../src/core/events.ts";
import type { StoredEvent, TaskEvent, TaskEventType } from "../../src/core/events.ts";
import { FAILURE_KINDS, createFailure } from "../../src/core/failure.ts";

describe("the events", () => {
  it("are these eleven, each with what it says", () => {
    expect(Object.keys(EVENT_TYPES)).toEqual([
      "TaskCreated",
      "TaskStatusChanged",
      "AttemptStarted",
      "AttemptFailed",
      "ProgressUpdated",
      "TaskHeartbeat",
      "TaskOutput",
      "TaskLogLine",
      "PipelineRunStatusChanged",
      "AdminOverride",
      "TaskWarning",
    ]);
    for (const says of Object.values(EVENT_TYPES)) expect(says).not.toBe("");
  });

  it("are told apart by type, and each has an id, a time, a task and a run", () => {
    expectTypeOf<keyof typeof EVENT_TYPES>().toEqualTypeOf<TaskEventType>();
    expectTypeOf<TaskEvent>().toExtend<{
      readonly eventId: string;
      readonly at: number;
      readonly taskId: string | null;
      readonly pipelineRunId: string | null;
    }>();
    expectTypeOf<Exclude<TaskEventType, StoredEvent["type"]>>().toEqualTypeOf<"ProgressUpdated" | "TaskHeartbeat" | "TaskOutput" | "TaskLogLine">();
    expect(new Set(WARNING_CODES).size).toBe(WARNING_CODES.length);
  });
});

describe("failures", () => {
  it("have these nine kinds", () => {
    expect(FAILURE_KINDS).toEqual([
      "exception",
      "nonzero_exit",
      "timeout_start",
      "timeout_attempt",
      "timeout_idle",
      "cancelled",
      "lost",
      "dependency_failed",
      "condition_false",
    ]);
  });

  it("are plain records with the usual values where nothing is said", () => {
    expect(createFailure({ kind: "lost", message: "gone" })).toEqual({
      kind: "lost",
      message: "gone",
      name: "lost",
      stack: null,
      causes: [],
      retryable: false,
      exitCode: null,
      signal: null,
      forced: false,
      abandoned: false,
    });
  });

  it("survive a structured clone", () => {
    const failure = createFailure({
      kind: "nonzero_exit",
      message: "exit 3",
      name: "ChildError",
      stack: "at x",
      causes: [{ name: "Error", message: "inner", stack: null }],
      retryable: true,
      exitCode: 3,
      signal: "SIGTERM",
      forced: true,
      abandoned: true,
    });
    expect(structuredClone(failure)).toEqual(failure);
    expect(failure).toMatchObject({ name: "ChildError", exitCode: 3, signal: "SIGTERM", forced: true, abandoned: true, retryable: true });
  });
});
