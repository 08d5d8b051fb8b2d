import { describe, expect, it } from "vitest";
import { TASK_STATUSES } from "../../src/core/status.ts";
import {
  PAUSED_IN_PLACE_EDGES,
  PAUSED_NOT_STARTED_EDGES,
  REVIVABLE,
  TERMINAL,
  TRANSITIONS,
  TRANSITION_NOTES,
  canTransition,
  isTerminal,
} from "../../src/core/transitions.ts";
import { ENDED, EXPECTED_EDGES, EXPECTED_TRANSITIONS } from "./expected-transitions.ts";

const PAIRS = TASK_STATUSES.flatMap((from) => TASK_STATUSES.map((to) => ({ from, to, legal: EXPECTED_TRANSITIONS[from].includes(to) })));

describe("the transition table", () => {
  it.each(PAIRS)("$from → $to: $legal", ({ from, to, legal }) => {
    expect(canTransition(from, to)).toBe(legal);
  });

  it("has 225 pairs, 50 of them legal, each row without repeats", () => {
    expect(PAIRS).toHaveLength(225);
    expect(PAIRS.filter((pair) => pair.legal)).toHaveLength(50);
    expect(TASK_STATUSES.flatMap((from) => TRANSITIONS[from].map((to) => `${from} → ${to}`)).toSorted()).toEqual([...EXPECTED_EDGES].toSorted());
  });
});

describe("what is derived from it", () => {
  it("TERMINAL is what has no way out", () => {
    expect(new Set(TERMINAL)).toEqual(ENDED);
    for (const status of TASK_STATUSES) expect(isTerminal(status)).toBe(TRANSITIONS[status].length === 0);
  });

  it("REVIVABLE holds the terminal statuses that retry may leave", () => {
    expect([...REVIVABLE].toSorted()).toEqual(["cancelled", "failed", "lost", "stopped"]);
    expect([...REVIVABLE].every(isTerminal)).toBe(true);
  });

  it("the ways out of paused fall into those of a living call stack and those of a task not begun", () => {
    expect([...PAUSED_IN_PLACE_EDGES].toSorted()).toEqual(["failed", "lost", "retry_wait", "running"]);
    expect([...PAUSED_NOT_STARTED_EDGES].toSorted()).toEqual(["cancelled", "queued", "stopped"]);
    expect([...PAUSED_IN_PLACE_EDGES, ...PAUSED_NOT_STARTED_EDGES].toSorted()).toEqual([...TRANSITIONS.paused].toSorted());
  });

  it("each note speaks of edges that exist", () => {
    for (const { edge, why } of TRANSITION_NOTES) {
      const hops = edge.split(" → ").map((names) => names.split(", "));
      for (const [index, [from = ""]] of hops.slice(0, -1).entries()) {
        for (const to of hops[index + 1] ?? []) expect(EXPECTED_EDGES, edge).toContain(`${from} → ${to}`);
      }
      expect(why).not.toBe("");
    }
  });
});
