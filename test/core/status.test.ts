import { describe, expect, it } from "vitest";
import { RUN_STATUSES, STATUS_ALIASES, STATUS_FACTS, TASK_STATUSES, parseTaskStatus } from "../../src/core/status.ts";

describe("the statuses", () => {
  it("are these fifteen, in the order of a task's life", () => {
    expect(TASK_STATUSES).toEqual([
      "pending",
      "blocked",
      "queued",
      "starting",
      "running",
      "pausing",
      "paused",
      "retry_wait",
      "stopping",
      "succeeded",
      "failed",
      "stopped",
      "cancelled",
      "skipped",
      "lost",
    ]);
  });

  it("of a run are these nine", () => {
    expect(RUN_STATUSES).toEqual(["pending", "running", "pausing", "paused", "stopping", "succeeded", "failed", "stopped", "cancelled"]);
  });

  it("hold a slot only while a carrier is there", () => {
    const holders = TASK_STATUSES.filter((status) => STATUS_FACTS[status].holdsSlot === true);
    expect(holders).toEqual(["starting", "running", "pausing", "stopping"]);
    const inPlace = TASK_STATUSES.filter((status) => STATUS_FACTS[status].holdsSlot === "in_place");
    expect(inPlace).toEqual(["paused"]);
  });

  it("each say what they mean and who moves a task out of them", () => {
    expect(Object.keys(STATUS_FACTS)).toEqual([...TASK_STATUSES]);
    for (const fact of Object.values(STATUS_FACTS)) {
      expect(fact.meaning).not.toBe("");
      expect(fact.leftBy).not.toBe("");
    }
  });
});

describe("parseTaskStatus", () => {
  it.each(TASK_STATUSES)("reads %s", (status) => {
    expect(parseTaskStatus(status)).toBe(status);
    expect(parseTaskStatus(`  ${status.toUpperCase()}\n`)).toBe(status);
  });

  it("takes the old name finished for succeeded, and knows no other alias", () => {
    expect(STATUS_ALIASES).toEqual({ finished: "succeeded" });
    expect(parseTaskStatus("finished")).toBe("succeeded");
    expect(parseTaskStatus(" Finished ")).toBe("succeeded");
  });

  it.each(["", " ", "done", "retry wait", "retry-wait", "toString", "constructor", "__proto__", "pending,queued"])("answers undefined for %j", (text) => {
    expect(parseTaskStatus(text)).toBeUndefined();
  });
});
