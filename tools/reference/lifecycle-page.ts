import { RUN_STATUSES, STATUS_ALIASES, STATUS_FACTS, TASK_STATUSES } from "../../src/core/status.ts";
import type { TaskStatus } from "../../src/core/status.ts";
import { FORCE_TARGETS } from "../../src/core/state-recovery.ts";
import { REVIVABLE, TERMINAL, TRANSITIONS, TRANSITION_NOTES, isTerminal } from "../../src/core/transitions.ts";
import { code, codes, list, page, table } from "./markdown.ts";
import { verbSections } from "./verb-sections.ts";

/** `docs/reference/lifecycle.md`: statuses, transitions, verbs. */
export function lifecyclePage(): string {
  return page(
    "# The life of a task",
    "A task has one status at a time. A verb, the scheduler or the task's own code moves it from one status to the next, along the rows of one table; every step is written to the task's history with who did it and why.",
    ...statusSections(),
    ...transitionSections(),
    ...verbSections(),
    "## Force",
    `\`forceTransition(id, to, { actor, reason })\` works from any status and ignores both tables. It leads to ${codes(FORCE_TARGETS)}. Use it when you know better than the record, for instance when you have checked by hand that a stuck task did its work. It needs a name and a reason, and leaves both in the history with an \`AdminOverride\` event; the task says \`overridden: true\` until it is revived. A carrier that still runs is told to stop, and its later result is discarded. Forced to \`pending\` or \`queued\`, the task gets a fresh budget of attempts.`,
    "## Statuses of a pipeline run",
    `A run has one of ${codes(RUN_STATUSES)}. It ends once every one of its tasks has ended: its nodes and the items of its maps, also those of a map that was forced away, which are still ending. It does not wait for a body that was given up on or forced away: that task has ended, and \`abandonedBy\` says that the body may still run.`,
    "See also: [records and queries](records.md), [errors](errors.md), [events, triggers and failure kinds](events.md).",
  );
}

function statusSections(): readonly string[] {
  const row = (status: TaskStatus): readonly string[] => {
    const { meaning, leftBy, holdsSlot } = STATUS_FACTS[status];
    return [code(status), meaning, leftBy, slot(holdsSlot)];
  };
  const head = ["status", "what it says", "what moves a task out of it", "holds a slot"];
  const aliases = Object.entries(STATUS_ALIASES).map(([alias, status]) => `${code(alias)} is taken for ${code(status)}`);
  return [
    "## Statuses",
    "### On the way",
    table(head, TASK_STATUSES.filter((status) => !isTerminal(status)).map(row)),
    "The *carrier* is what runs the task's code: an event loop, a thread or a child process. The *grace* is the time a task has to end by itself after it was asked to.",
    "A *slot* is one of the `maxParallel` places of a controller. A task that is paused in place still holds its slot, since its code is only held at a checkpoint; a task that was paused before it began holds none. `pausedFrom` tells them apart.",
    "### Ended (terminal)",
    table(
      head.slice(0, 3),
      TASK_STATUSES.filter(isTerminal).map((status) => row(status).slice(0, 3)),
    ),
    `Nothing leaves a terminal status by itself. \`retry\` can revive ${codes(TASK_STATUSES.filter((status) => REVIVABLE.has(status)))}.`,
    `Where a status is read from text (queries, the command line), ${aliases.join(", ")}.`,
    "### Wished for, not yet reached",
    "`status` says what is. `requestedAction` (`stop`, `pause`, `cancel` or `null`) says what is wanted: it is set while a task is `pausing` or `stopping`, and cleared when the wish is met or dropped. The first of stop and cancel stays.",
  ];
}

function slot(holdsSlot: boolean | "in_place"): string {
  if (holdsSlot === "in_place") return "only if paused in place";
  return holdsSlot ? "yes" : "no";
}

function transitionSections(): readonly string[] {
  return [
    "## Transitions",
    diagram(),
    table(
      ["from", "to"],
      TASK_STATUSES.map((status) => [code(status), TRANSITIONS[status].length === 0 ? "none: terminal" : codes(TRANSITIONS[status])]),
    ),
    "Why the less obvious rows are there:",
    list(TRANSITION_NOTES.map(({ edge, why }) => `**${edge}**: ${why}`)),
    "Rules that stand beside the table:",
    list(RULES),
  ];
}

const RULES: readonly string[] = [
  "An attempt begins with `starting`: `attempt` rises by one and `startedAt` is set. `attempt` never passes `maxAttempts`; what would pass it by itself (backoff, `retryLost`) is refused with [`AttemptsExhausted`](errors.md).",
  "A `retry` by a person grants one attempt more where the budget is spent: `maxAttempts` rises by one.",
  "A pause that is not reached in time goes back from `pausing` to `running`. A task that is asked to pause while it is `starting` waits for its launch first; so does a `resume` of it.",
  "A stop is never retried: a task that fails while it is `stopping` ends.",
  "While a body that was given up on may still run (`abandonedBy` says whose), everything that would begin another attempt is refused with [`CarrierAbandoned`](errors.md), unless you pass `force`.",
  "`statusVersion` rises by one with each step; progress and heartbeats never touch it.",
  "A step of two rows (`pausing → running → succeeded`) is stored as one commit, with both steps in the history.",
];

function diagram(): string {
  const edges = TASK_STATUSES.flatMap((from) => TRANSITIONS[from].map((to) => `  ${from} --> ${to}`));
  const ends = [...TERMINAL].map((status) => `  ${status} --> [*]`);
  return ["```mermaid", "stateDiagram-v2", "  [*] --> pending", ...edges, ...ends, "```"].join("\n");
}
