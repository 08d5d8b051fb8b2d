import { readFileSync } from "node:fs";
import { describe, expect, expectTypeOf, it } from "vitest";
import * as errors from "../../src/core/errors.ts";
import type { ErrorCode, TaskError } from "../../src/core/errors.ts";

const { ERRORS } = errors;
const because = new Error("the reason");

/** One error of each code, made as its users make it. A code without one does not compile. */
const SAMPLES: Readonly<Record<ErrorCode, TaskError>> = {
  INVALID_TRANSITION: new errors.InvalidTransition({ taskId: "t1", current: "running", requested: "skip", allowed: ["stop", "pause"] }),
  ATTEMPTS_EXHAUSTED: new errors.AttemptsExhausted("t1", 3, 3),
  CARRIER_ABANDONED: new errors.CarrierAbandoned("t1", "retry"),
  CIRCULAR_DEPENDENCY: new errors.CircularDependency(["a", "b", "a"]),
  TASK_CANCELLED: new errors.TaskCancelled("task t1 was stopped"),
  TASK_SKIPPED: new errors.TaskSkipped("task t1 was skipped"),
  TASK_TIMEOUT: new errors.TaskTimeout("idle", "no sign of life for 60 s"),
  TASK_EXECUTION: new errors.TaskExecutionError("boom", null),
  TASK_LOST: new errors.TaskLost("its node died", null),
  WAIT_TIMEOUT: new errors.WaitTimeout("10 s are over"),
  WAIT_IMPOSSIBLE: new errors.WaitImpossible("it failed"),
  DEADLOCK: new errors.Deadlock("a task cannot wait for itself"),
  CONCURRENCY_CONFLICT: new errors.ConcurrencyConflict("t1", 4, 5),
  STORE: new errors.StoreError("the disk is full"),
  CONFIGURATION: new errors.ConfigurationError("maxAttempts is 0: give 1 or more"),
  INVALID_ARGUMENTS: new errors.InvalidArguments("load", [{ message: "expected a string", path: "args[0].day" }]),
  UNKNOWN_NAME: new errors.UnknownName("task", "extrat", ["extract"]),
  UNKNOWN_ID: new errors.UnknownId("no task or run t9"),
  OUTCOME_MISSING: new errors.OutcomeMissing("extract was skipped by ada"),
  CONTROLLER_CLOSED: new errors.ControllerClosed("the controller is closed"),
  INTERNAL: new errors.InternalError("this cannot be"),
};

const CODES = Object.keys(ERRORS) as ErrorCode[];

/** The classes that the module exports, but for the base of them all. */
const CLASSES = Object.entries(errors).filter(([name, value]) => typeof value === "function" && name !== "TaskError");

type ExportedCode = {
  [K in keyof typeof errors]: (typeof errors)[K] extends new (...args: never[]) => { readonly code: infer C } ? C : never;
}[keyof typeof errors];

describe("the table of errors", () => {
  it.each(CODES)("%s has its class, name and exit code", (code) => {
    const error = SAMPLES[code];
    expect(error).toBeInstanceOf(errors.TaskError);
    expect(error).toBeInstanceOf(Error);
    expect(error.code).toBe(code);
    expect(error.name).toBe(ERRORS[code].name);
    expect(error.constructor.name).toBe(ERRORS[code].name);
    expect(error.exitCode).toBe(ERRORS[code].exitCode);
    expect(error.message).not.toBe("");
    expect(ERRORS[code].meaning).toMatch(/\.$/);
  });

  it("has every class that is exported, and every row has its class", () => {
    expect(CLASSES.map(([name]) => name).toSorted()).toEqual(CODES.map((code) => ERRORS[code].name).toSorted());
    expectTypeOf<ExportedCode>().toEqualTypeOf<ErrorCode>();
  });

  it("has the exit codes that the command line promises", () => {
    const byExitCode = Object.groupBy(CODES, (code) => String(ERRORS[code].exitCode));
    expect(byExitCode).toEqual({
      0: ["TASK_SKIPPED"],
      1: ["TASK_TIMEOUT", "TASK_EXECUTION", "OUTCOME_MISSING"],
      2: ["CIRCULAR_DEPENDENCY", "DEADLOCK", "CONFIGURATION", "INVALID_ARGUMENTS", "CONTROLLER_CLOSED"],
      3: ["UNKNOWN_NAME", "UNKNOWN_ID"],
      4: ["INVALID_TRANSITION", "ATTEMPTS_EXHAUSTED", "CARRIER_ABANDONED", "WAIT_IMPOSSIBLE"],
      5: ["WAIT_TIMEOUT"],
      6: ["TASK_CANCELLED"],
      7: ["TASK_LOST"],
      8: ["CONCURRENCY_CONFLICT", "STORE"],
      70: ["INTERNAL"],
    });
  });

  it("is on the reference page, row for row", () => {
    const page = readFileSync(new URL("../../docs/reference/errors.md", import.meta.url), "utf8");
    const rows = page.split("\n").filter((line) => /^\| `[A-Z_]+` \|/.test(line));
    expect(rows.map((row) => row.split("`")[1])).toEqual(CODES);
    for (const [index, code] of CODES.entries()) {
      const { name, exitCode, meaning } = ERRORS[code];
      expect(rows[index]).toContain(`\`${name}\``);
      expect(rows[index]).toMatch(new RegExp(String.raw`\| ${exitCode}(?: \(reserved\))? \|`));
      expect(rows[index]).toContain(meaning);
    }
  });
});

describe("the cause of an error", () => {
  const WITH_CAUSE: readonly TaskError[] = [
    new errors.TaskExecutionError("m", null, { cause: because }),
    new errors.InvalidArguments("load", [], { cause: because }),
    new errors.ConfigurationError("m", { cause: because }),
    new errors.TaskCancelled("m", { cause: because }),
    new errors.StoreError("m", { cause: because }),
    new errors.InternalError("m", { cause: because }),
  ];

  it.each(WITH_CAUSE)("is kept by $name", (error) => {
    expect(error.cause).toBe(because);
  });

  it("is kept where it is no error, also undefined, and is absent where none was given", () => {
    expect(new errors.TaskExecutionError("m", null, { cause: "text" }).cause).toBe("text");
    expect(Object.hasOwn(new errors.TaskExecutionError("m", null, { cause: undefined }), "cause")).toBe(true);
    expect(Object.hasOwn(new errors.TaskExecutionError("m", null), "cause")).toBe(false);
    expect(Object.hasOwn(new errors.TaskExecutionError("m", null, {}), "cause")).toBe(false);
  });
});

describe("a message says what was found and what would be right", () => {
  it("InvalidTransition: the status, what was asked for, what is possible", () => {
    expect(SAMPLES.INVALID_TRANSITION.message).toBe('task t1 is running: "skip" is not possible now. Possible: stop, pause.');
    const nothing = new errors.InvalidTransition({ taskId: "t1", current: "succeeded", requested: "stop", allowed: [] });
    expect(nothing.message).toBe('task t1 is succeeded: "stop" is not possible now. Possible: nothing.');
    const hinted = new errors.InvalidTransition({ taskId: "t1", current: "running", requested: "reset", allowed: ["stop"], hint: "stop it first" });
    expect(hinted.message).toContain("(stop it first)");
  });

  it("AttemptsExhausted, CarrierAbandoned: the way on", () => {
    expect(SAMPLES.ATTEMPTS_EXHAUSTED.message).toContain("3 of 3 attempts");
    expect(SAMPLES.CARRIER_ABANDONED.message).toContain("pass force");
  });

  it("CircularDependency: the path", () => {
    expect(SAMPLES.CIRCULAR_DEPENDENCY.message).toContain("a → b → a");
  });

  it("UnknownName: the nearest names, or none", () => {
    expect(SAMPLES.UNKNOWN_NAME.message).toBe('no task named "extrat" is registered. Did you mean "extract"?');
    expect(new errors.UnknownName("pipeline", "x", ["a", "b"]).message).toContain('"a" or "b"?');
    expect(new errors.UnknownName("task or pipeline", "x", []).message).toBe('no task or pipeline named "x" is registered.');
  });

  it("ConcurrencyConflict: both versions, or that there is no such task", () => {
    expect(SAMPLES.CONCURRENCY_CONFLICT.message).toContain("expected version 4, found version 5");
    expect(new errors.ConcurrencyConflict("t1", 0, null).message).toContain("found no such task");
  });

  it("InvalidArguments: each place and what is wrong there", () => {
    expect(SAMPLES.INVALID_ARGUMENTS.message).toBe('"load" refused its arguments: args[0].day: expected a string.');
  });
});

describe("what hangs on the classes", () => {
  it("unknown names and refused arguments are configuration errors", () => {
    expect(SAMPLES.UNKNOWN_NAME).toBeInstanceOf(errors.ConfigurationError);
    expect(SAMPLES.INVALID_ARGUMENTS).toBeInstanceOf(errors.ConfigurationError);
  });

  it("the details can be read without parsing the message", () => {
    expect(SAMPLES.INVALID_TRANSITION).toMatchObject({ current: "running", requested: "skip", allowed: ["stop", "pause"] });
    expect(SAMPLES.CIRCULAR_DEPENDENCY).toMatchObject({ path: ["a", "b", "a"] });
    expect(SAMPLES.TASK_TIMEOUT).toMatchObject({ scope: "idle" });
    expect(SAMPLES.UNKNOWN_NAME).toMatchObject({ requested: "extrat", nearest: ["extract"] });
    expect(SAMPLES.CONCURRENCY_CONFLICT).toMatchObject({ expected: 4, actual: 5 });
    expect(SAMPLES.INVALID_ARGUMENTS).toMatchObject({ issues: [{ path: "args[0].day" }] });
    expect([SAMPLES.TASK_EXECUTION, SAMPLES.TASK_LOST]).toMatchObject([{ failure: null }, { failure: null }]);
  });
});
