import { describe, expect, it } from "vitest";
import { classOfOutcome, effectiveOutcome, isOutcome, JOINS, judgeJoin, OUTCOMES } from "../../src/core/join.ts";
import { joinTruthTable } from "../../src/core/join-table.ts";
import type { Join, JoinVerdict } from "../../src/core/join.ts";
import { TASK_STATUSES } from "../../src/core/status.ts";
import { TERMINAL } from "../../src/core/transitions.ts";

const COLUMNS = ["succeeded", "failed", "stopped", "cancelled", "skipped", "lost", "empty map", "open"] as const;

/** R ready, w waiting, s ends skipped, F ends by onUpstreamFailure. Row and column in the order of COLUMNS; each pair once. */
const TABLE: Readonly<Record<Join, readonly string[]>> = {
  //              succ fail stop canc skip lost empt open
  all_succeeded: [
    "R    F    F    F    s    F    R    w",
    "     F    F    F    F    F    F    F",
    "          F    F    F    F    F    F",
    "               F    F    F    F    F",
    "                    s    F    s    w",
    "                         F    F    F",
    "                              R    w",
    "                                   w",
  ],
  none_failed: [
    "R    F    F    F    R    F    R    w",
    "     F    F    F    F    F    F    F",
    "          F    F    F    F    F    F",
    "               F    F    F    F    F",
    "                    R    F    R    w",
    "                         F    F    F",
    "                              R    w",
    "                                   w",
  ],
  any_succeeded: [
    "R    R    R    R    R    R    R    R",
    "     F    F    F    F    F    R    w",
    "          F    F    F    F    R    w",
    "               F    F    F    R    w",
    "                    s    F    R    w",
    "                         F    R    w",
    "                              R    R",
    "                                   w",
  ],
  all_done: [
    "R    R    R    R    R    R    R    w",
    "     R    R    R    R    R    R    w",
    "          R    R    R    R    R    w",
    "               R    R    R    R    w",
    "                    R    R    R    w",
    "                         R    R    w",
    "                              R    w",
    "                                   w",
  ],
};

function letterOf(verdict: JoinVerdict): string {
  if (verdict === "ready") return "R";
  if (verdict === "waiting") return "w";
  return verdict.unmet === "skipped" ? "s" : "F";
}

describe("join", () => {
  it("has a truth table of every join over every pair of upstreams", () => {
    const pairs = (COLUMNS.length * (COLUMNS.length + 1)) / 2;
    const cells = new Set(joinTruthTable().map(({ join, upstreams }) => `${join} ${upstreams.join(" ")}`));
    expect(cells.size).toBe(JOINS.length * pairs);
    expect(joinTruthTable()).toHaveLength(JOINS.length * pairs);
  });

  it.each(joinTruthTable().map((cell) => [cell.join, ...cell.upstreams, cell.verdict] as const))("%s over %s and %s", (join, first, second, verdict) => {
    const row = TABLE[join][COLUMNS.indexOf(first)] ?? "";
    expect(letterOf(verdict)).toBe(row[5 * COLUMNS.indexOf(second)]);
  });

  it.each(JOINS)("%s lets a node without upstreams run", (join) => {
    expect(judgeJoin(join, { succeeded: 0, skipped: 0, failed: 0, open: 0 })).toBe("ready");
  });

  it("lets failure decide over a skip that came first", () => {
    expect(judgeJoin("all_succeeded", { succeeded: 0, skipped: 1, failed: 0, open: 1 })).toBe("waiting");
    expect(judgeJoin("all_succeeded", { succeeded: 0, skipped: 1, failed: 1, open: 0 })).toEqual({ unmet: "dependency_failed" });
    expect(judgeJoin("any_succeeded", { succeeded: 0, skipped: 1, failed: 1, open: 0 })).toEqual({ unmet: "dependency_failed" });
  });

  it("takes its outcomes from the transition table", () => {
    expect(new Set(OUTCOMES)).toEqual(TERMINAL);
    expect(TASK_STATUSES.filter(isOutcome)).toEqual([...OUTCOMES]);
  });

  it("counts all but success and skip as failed", () => {
    const classes = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, classOfOutcome(outcome)]));
    expect(classes).toEqual({ succeeded: "succeeded", skipped: "skipped", failed: "failed", lost: "failed", cancelled: "failed", stopped: "failed" });
  });

  it("counts a node that a person skipped as succeeded, and only that", () => {
    expect(effectiveOutcome("skipped", true)).toBe("succeeded");
    for (const outcome of OUTCOMES) {
      expect(effectiveOutcome(outcome, false)).toBe(outcome);
      if (outcome !== "skipped") expect(effectiveOutcome(outcome, true)).toBe(outcome);
    }
  });

  it("refuses what is no join or outcome", () => {
    const tally = { succeeded: 0, skipped: 0, failed: 0, open: 0 };
    expect(() => judgeJoin("most" as Join, tally)).toThrow("unreachable: most");
    expect(() => classOfOutcome("running" as "failed")).toThrow("unreachable: running");
  });
});
