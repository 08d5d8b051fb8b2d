import { describe, expect, test } from "vitest";
import { InvalidTransition, VERBS } from "../../src/index.ts";
import type { Verb } from "../../src/index.ts";
import { rowsOf } from "./stage.ts";
import { PAUSED_BEFORE, PAUSED_IN_PLACE, SUBJECTS, VerbStage } from "./verb-stage.ts";
import type { Row, Subject } from "./verb-stage.ts";

/**
 * The table of the contract, written out by hand: `=` is there already, `✗` is refused, a status is where it leads. Each
 * row is reached for real; only `blocked` of a task on its own is made in the store, since nothing leads there.
 */
const CONTRACT = `
  | status               | start  | stop     | pause   | resume  | cancel    | retry  | skip    | reset   |
  | pending              | queued | stopped  | ✗       | ✗       | cancelled | ✗      | skipped | =       |
  | blocked              | =      | stopped  | ✗       | ✗       | cancelled | ✗      | skipped | pending |
  | queued               | =      | stopped  | paused  | =       | cancelled | =      | skipped | pending |
  | starting             | =      | stopping | pausing | =       | stopping  | ✗      | ✗       | ✗       |
  | running              | =      | stopping | pausing | =       | stopping  | ✗      | ✗       | ✗       |
  | pausing              | =      | stopping | =       | running | stopping  | ✗      | ✗       | ✗       |
  | paused (in place)    | ✗      | stopping | =       | running | stopping  | ✗      | ✗       | ✗       |
  | paused (not started) | ✗      | stopped  | =       | queued  | cancelled | ✗      | ✗       | pending |
  | retry_wait           | =      | stopped  | paused  | =       | cancelled | queued | ✗       | pending |
  | stopping             | ✗      | =        | ✗       | ✗       | =         | ✗      | ✗       | ✗       |
  | succeeded            | ✗      | ✗        | ✗       | ✗       | ✗         | ✗      | ✗       | pending |
  | failed               | ✗      | ✗        | ✗       | ✗       | ✗         | queued | skipped | pending |
  | stopped              | ✗      | =        | ✗       | ✗       | ✗         | queued | ✗       | pending |
  | cancelled            | ✗      | ✗        | ✗       | ✗       | =         | queued | ✗       | pending |
  | skipped              | ✗      | ✗        | ✗       | ✗       | ✗         | ✗      | =       | pending |
  | lost                 | ✗      | =        | ✗       | ✗       | ✗         | queued | ✗       | pending |
`;

const TABLE = rowsOf(CONTRACT).map(([row = "", ...cells]) => ({
  row: row as Row,
  cells: Object.fromEntries(VERBS.map((verb, index) => [verb, cells[index] ?? ""])) as Record<Verb, string>,
}));

/** A task on its own depends on nothing, so `start` finds its dependencies met. */
function expected(of: Subject, row: Row, verb: Verb): string {
  const cell = TABLE.find((each) => each.row === row)?.cells[verb] ?? "";
  return of === "task" && row === "blocked" && verb === "start" ? "queued" : cell;
}

const allowedIn = (row: Row): readonly Verb[] =>
  VERBS.filter((verb) => (row === "blocked" && verb === "start" ? true : !["=", "✗"].includes(expected("node", row, verb))));

describe.each(SUBJECTS)("%s", (of) => {
  describe.each(TABLE.map(({ row }) => row))("%s", (row) => {
    test.each(VERBS)("%s", async (verb) => {
      await using stage = await VerbStage.open(of);
      const id = await stage.bring(row);
      const before = await stage.get(id);
      expect(rowOf(before)).toBe(row);
      const steps = (await stage.controller.history(id)).length;
      const cell = expected(of, row, verb);

      const may = await stage.controller.can(id, verb);
      expect(may.allowed).toBe(cell !== "✗");
      expect(may.reason === null).toBe(cell !== "✗" && cell !== "=");
      expect(await stage.get(id)).toEqual(before);

      let refused: unknown = null;
      // Not awaited: a stop answers at the end of the grace. What is refused is refused at once.
      void stage.ask(id, verb).catch((error: unknown) => void (refused = error));
      await stage.clock.advance(0);
      if (cell === "✗") {
        expect(refused).toBeInstanceOf(InvalidTransition);
        expect(refused).toMatchObject({ current: before.status, requested: verb, allowed: allowedIn(row) });
      } else {
        expect(refused).toBeNull();
      }

      const after = await stage.get(id);
      const taken = (await stage.controller.history(id)).slice(steps);
      if (cell === "✗" || cell === "=") {
        expect(taken).toEqual([]);
        expect(after).toMatchObject({ status: before.status, statusVersion: before.statusVersion, requestedAction: before.requestedAction });
        return;
      }
      expect(after.status).toBe(cell);
      expect(taken.map(({ from, to }) => [from, to])).toEqual(
        row === PAUSED_IN_PLACE && cell === "stopping"
          ? [
              ["paused", "running"],
              ["running", cell],
            ]
          : [[before.status, cell]],
      );
      for (const step of taken) expect(step).toMatchObject({ trigger: `user:${verb}`, actor: "ada", reason: "the table" });
      expect(taken.at(-1)?.kind).toBe(isRevival(row, verb) ? "revive" : "transition");
    });
  });
});

test("a task that was made elsewhere and waits is begun where it is started", async () => {
  await using stage = await VerbStage.open("task");
  const id = await stage.bring("blocked");
  await stage.ask(id, "start");
  stage.executor.last.launched();
  stage.executor.last.settle({ type: "returned", value: 1, noticed: false });
  await stage.clock.advance(0);
  expect(stage.executor.last.request.taskId).toBe(id);
});

test("every status is in it", () => {
  expect(TABLE).toHaveLength(16);
});

function rowOf({ status, pausedFrom }: { readonly status: string; readonly pausedFrom: string | null }): string {
  if (status !== "paused") return status;
  return pausedFrom === "queued" || pausedFrom === "retry_wait" ? PAUSED_BEFORE : PAUSED_IN_PLACE;
}

const ENDED: readonly Row[] = ["succeeded", "failed", "stopped", "cancelled", "skipped", "lost"];

function isRevival(row: Row, verb: Verb): boolean {
  return verb === "reset" || (ENDED.includes(row) && (verb === "retry" || verb === "skip"));
}
