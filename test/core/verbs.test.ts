import { describe, expect, it } from "vitest";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import { REVIVE_OPERATIONS, VERBS, VERB_TABLE, allowedVerbs, canVerb, isPausedInPlace, verbCell, verbRow } from "../../src/core/verbs.ts";
import type { Verb, VerbCell, VerbRow } from "../../src/core/verbs.ts";
import { accept, refuseTransition, taskAt } from "./task-at.ts";

/**
 * The verb table as it was agreed on, written down apart from the source. `=`: idempotent. `✗`: refused, with
 * the hint after it. `a>b`: by way of a. `*`: a revive operation.
 */
const EXPECTED = `
row                  | start       | stop             | pause   | resume  | cancel           | retry   | skip     | reset
pending              | queued      | stopped          | ✗       | ✗       | cancelled        | ✗       | skipped  | =
blocked              | queued      | stopped          | ✗       | ✗       | cancelled        | ✗       | skipped  | *pending
queued               | =           | stopped          | paused  | =       | cancelled        | =       | skipped  | *pending
starting             | =           | stopping         | pausing | =       | stopping         | ✗       | ✗        | ✗ stop it first
running              | =           | stopping         | pausing | =       | stopping         | ✗       | ✗        | ✗ stop it first
pausing              | =           | stopping         | =       | running | stopping         | ✗       | ✗        | ✗ stop it first
paused (in place)    | ✗ resume it | running>stopping | =       | running | running>stopping | ✗       | ✗        | ✗ stop it first
paused (not started) | ✗ resume it | stopped          | =       | queued  | cancelled        | ✗       | ✗        | *pending
retry_wait           | =           | stopped          | paused  | =       | cancelled        | queued  | ✗        | *pending
stopping             | ✗           | =                | ✗       | ✗       | =                | ✗       | ✗        | ✗ stop it first
succeeded            | ✗           | ✗                | ✗       | ✗       | ✗                | ✗       | ✗        | *pending
failed               | ✗           | ✗                | ✗       | ✗       | ✗                | *queued | *skipped | *pending
stopped              | ✗           | =                | ✗       | ✗       | ✗                | *queued | ✗        | *pending
cancelled            | ✗           | ✗                | ✗       | ✗       | =                | *queued | ✗        | *pending
skipped              | ✗           | ✗                | ✗       | ✗       | ✗                | ✗       | =        | *pending
lost                 | ✗           | =                | ✗       | ✗       | ✗                | *queued | ✗        | *pending`;

const [head = [], ...lines] = EXPECTED.trim()
  .split("\n")
  .map((line) => line.split("|").map((cell) => cell.trim()));

const ROWS = Object.keys(VERB_TABLE) as VerbRow[];
const CELLS = ROWS.flatMap((row) => VERBS.map((verb) => ({ row, verb, cell: expectedCell(row, verb) })));
const MOVES = CELLS.filter(({ cell }) => !/^[=✗]/.test(cell));
const STILL = CELLS.filter(({ cell }) => /^[=✗]/.test(cell));

function expectedCell(row: VerbRow, verb: Verb): string {
  return lines.find(([name]) => name === row)?.[head.indexOf(verb)] ?? "";
}

function expectedMovers(row: VerbRow): readonly Verb[] {
  return MOVES.filter((cell) => cell.row === row).map(({ verb }) => verb);
}

function written(cell: VerbCell): string {
  if (cell.effect === "idempotent") return "=";
  if (cell.effect === "refused") return cell.hint === undefined ? "✗" : `✗ ${cell.hint}`;
  return `${cell.revive === true ? "*" : ""}${[...(cell.via ?? []), cell.to].join(">")}`;
}

function eventOf(verb: Verb): LifecycleEvent {
  return verb === "start" ? { type: "start", depsOpen: false } : { type: verb };
}

describe("the verb table", () => {
  it("has a cell for every verb in every status, paused told apart by where it was paused", () => {
    expect(head.slice(1)).toEqual([...VERBS]);
    expect(lines.map(([name]) => name)).toEqual(ROWS);
    expect(CELLS).toHaveLength(16 * 8);
  });

  it.each(CELLS)("$verb of $row: $cell", ({ row, verb, cell }) => {
    expect(written(VERB_TABLE[row][verb])).toBe(cell);
    expect(written(verbCell(taskAt(row), verb))).toBe(cell);
  });
});

describe("apply moves a task as the table says", () => {
  it.each(MOVES)("$verb of $row → $cell", ({ row, verb, cell }) => {
    const before = taskAt(row);
    const { snapshot, transitions } = accept(before, { ...eventOf(verb), actor: "ada", reason: "because" });
    const path = cell.replace("*", "").split(">");
    expect(transitions.map((step) => step.to)).toEqual(path);
    expect(transitions.map((step) => step.kind)).toEqual(path.map(() => (cell.startsWith("*") ? "revive" : "transition")));
    expect(transitions.map((step) => [step.trigger, step.actor, step.reason])).toEqual(path.map(() => [`user:${verb}`, "ada", "because"]));
    expect(snapshot.status).toBe(path.at(-1));
    expect(snapshot.statusVersion).toBe(before.statusVersion + path.length);
  });
});

describe("apply refuses every other verb and changes nothing", () => {
  it.each(STILL)("$verb of $row: $cell", ({ row, verb, cell }) => {
    const before = taskAt(row);
    const error = refuseTransition(before, eventOf(verb));
    expect(error.current).toBe(before.status);
    expect(error.requested).toBe(verb);
    expect(error.allowed).toEqual(expectedMovers(row));
    if (cell.startsWith("✗ ")) expect(error.message).toContain(`(${cell.slice(2)})`);
  });
});

describe("canVerb", () => {
  it.each(CELLS)("$verb of $row: $cell", ({ row, verb, cell }) => {
    const task = taskAt(row);
    const { allowed, reason } = canVerb(task, verb);
    expect(allowed).toBe(!cell.startsWith("✗"));
    if (cell === "=") expect(reason).toBe(`already ${task.status}`);
    else if (cell === "✗") expect(reason).toBe(`a task that is ${task.status} cannot be given "${verb}"`);
    else if (cell.startsWith("✗")) expect(reason).toBe(`it is ${task.status}: ${cell.slice(2)}`);
    else expect(reason).toBeNull();
  });
});

describe("what is asked of the table", () => {
  it.each(ROWS)("allowedVerbs of %s are those that move it", (row) => {
    expect(allowedVerbs(taskAt(row))).toEqual(expectedMovers(row));
  });

  it.each(ROWS)("verbRow finds %s", (row) => {
    expect(verbRow(taskAt(row))).toBe(row);
  });

  it("a task is paused in place when its code was on the stack", () => {
    expect(isPausedInPlace({ status: "paused", pausedFrom: "running" })).toBe(true);
    expect(isPausedInPlace({ status: "paused", pausedFrom: "starting" })).toBe(true);
    expect(isPausedInPlace({ status: "paused", pausedFrom: "queued" })).toBe(false);
    expect(isPausedInPlace({ status: "paused", pausedFrom: "retry_wait" })).toBe(false);
    expect(isPausedInPlace({ status: "pausing", pausedFrom: "running" })).toBe(false);
  });

  it("a task paused while it backed off counts as not started", () => {
    expect(verbRow(accept(taskAt("retry_wait"), { type: "pause" }).snapshot)).toBe("paused (not started)");
  });

  it("the revive operations are these four", () => {
    expect(REVIVE_OPERATIONS).toEqual(["retry", "skip", "reset", "rerun"]);
  });
});
