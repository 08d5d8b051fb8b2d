import { joinTruthTable, UPSTREAM_STATES } from "../../src/core/join-table.ts";
import type { UpstreamState } from "../../src/core/join-table.ts";
import { JOINS } from "../../src/core/join.ts";
import type { Join, JoinVerdict } from "../../src/core/join.ts";
import { code, list, page, table } from "./markdown.ts";

const ASKS: Readonly<Record<Join, string>> = {
  all_succeeded: "The default: every upstream has succeeded.",
  none_failed: "Every upstream has succeeded or was skipped.",
  any_succeeded: "One upstream has succeeded; the node starts as soon as one has, while others still run.",
  all_done: "Every upstream has ended, however it has.",
};

/** `docs/reference/joins.md`: what each join makes of the ends of two upstreams. */
export function joinsPage(): string {
  return page(
    "# Joins",
    "What a node makes of how its direct upstreams have ended is its `join`. Each table has one upstream in its rows and another in its columns; with more of them the same rules hold, and with none a node runs at once under every join.",
    list([
      "**runs**: the join is met. The node's `when`, `args` or `items` are worked out and it is queued.",
      "**waits**: it is not decided yet.",
      "**skipped**: the node ends `skipped` without running (failure kind `condition_false`), because what it depends on was skipped.",
      "**unmet**: the node ends without running by its `onUpstreamFailure`: `cancelled` (default) or `skipped`, with failure kind `dependency_failed` and the upstreams that are the reason. Where one upstream was skipped and another failed, failure decides.",
    ]),
    "`open` is an upstream that has not ended. `empty map` is a map whose list of items was empty: it has succeeded, with `[]`. A node that a person skipped or forced to `succeeded` counts as `succeeded`.",
    ...JOINS.flatMap((join) => [`## ${code(join)}`, ASKS[join], matrix(join)]),
    "See also: [the life of a task](lifecycle.md), [pipelines](../guides/pipelines.md).",
  );
}

function matrix(join: Join): string {
  const words = new Map<string, string>();
  for (const cell of joinTruthTable()) {
    const [first, second] = cell.upstreams;
    if (cell.join !== join) continue;
    words.set(key(first, second), wordOf(cell.verdict));
    words.set(key(second, first), wordOf(cell.verdict));
  }
  return table(
    ["", ...UPSTREAM_STATES],
    UPSTREAM_STATES.map((first) => [first, ...UPSTREAM_STATES.map((second) => words.get(key(first, second)) ?? "")]),
  );
}

function key(first: UpstreamState, second: UpstreamState): string {
  return `${first}/${second}`;
}

function wordOf(verdict: JoinVerdict): string {
  if (verdict === "ready") return "runs";
  if (verdict === "waiting") return "waits";
  return verdict.unmet === "skipped" ? "skipped" : "unmet";
}
