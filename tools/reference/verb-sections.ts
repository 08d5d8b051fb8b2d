import { REVIVE_OPERATIONS, VERBS, VERB_TABLE } from "../../src/core/verbs.ts";
import type { Verb, VerbCell } from "../../src/core/verbs.ts";
import { unreachable } from "../../src/core/unreachable.ts";
import { code, codes, list, table } from "./markdown.ts";

/** What each verb is for. */
const PURPOSE: Readonly<Record<Verb, string>> = {
  start: "look at the dependencies and join the queue",
  stop: "end it, because a person wants so; ends `stopped`",
  pause: "hold it at its next checkpoint, or keep it from starting",
  resume: "let a paused task go on",
  cancel: "end it, because the work is no longer wanted; ends `cancelled`",
  retry: "run it again, with its history",
  skip: "leave it out; those downstream go on, with the `outcome` you give",
  reset: "begin anew from `pending`, in a new epoch: attempts count from 0",
};

const REVIVE_PURPOSE: Readonly<Record<(typeof REVIVE_OPERATIONS)[number], string>> = {
  retry: "leaves a terminal status for `queued`; the history stays.",
  skip: "leaves `failed` for `skipped`; the history stays. (A task that has not begun is skipped by a row of the transition table.)",
  reset:
    "begins a new epoch: attempts count from 0, older attempts and steps stay in the history under their epoch. It is dangerous, so it asks for `confirm: true`, and it is refused while the task's code runs.",
  rerun: "is used by a run alone: a node below a retried one goes back to `pending`, with its history and a fresh budget of attempts.",
};

/** The part of the lifecycle page about verbs. */
export function verbSections(): readonly string[] {
  return [
    "## Verbs",
    table(
      ["verb", "asks to"],
      VERBS.map((verb) => [code(verb), PURPOSE[verb]]),
    ),
    "What each verb does in each status:",
    table(
      ["status", ...VERBS.map(code)],
      Object.entries(VERB_TABLE).map(([row, cells]) => [rowName(row), ...VERBS.map((verb) => cellText(cells[verb]))]),
    ),
    list([
      "**→ status**: the verb moves the task there.",
      "**↺ status**: the same, as a revive operation (below).",
      "**=**: already there or on the way to it. No error, and nothing changes.",
      "**✗**: refused with [`InvalidTransition`](errors.md); its `allowed` lists the verbs that would move the task.",
    ]),
    "A `stop` or `cancel` of a task that is already `stopping` changes one thing: a shorter grace brings the deadline nearer.",
    "`can(id, verb)` answers from this table, `{ allowed, reason }`, and changes nothing.",
    "### Revive operations",
    `${codes(REVIVE_OPERATIONS)} stand apart from the transition table and are marked \`kind: "revive"\` in the history.`,
    list(REVIVE_OPERATIONS.map((operation) => `${code(operation)} ${REVIVE_PURPOSE[operation]}`)),
  ];
}

function rowName(row: string): string {
  const [status = "", ...rest] = row.split(" ");
  return [code(status), ...rest].join(" ");
}

function cellText(cell: VerbCell): string {
  switch (cell.effect) {
    case "moves":
      return `${cell.revive === true ? "↺" : "→"} ${cell.note ?? [...(cell.via ?? []), cell.to].join(" → ")}`;
    case "idempotent":
      return "=";
    case "refused":
      return cell.hint === undefined ? "✗" : `✗ ${cell.hint}`;
    default:
      return unreachable(cell);
  }
}
