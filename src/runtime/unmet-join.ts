import { createFailure } from "../core/failure.ts";
import type { Failure } from "../core/failure.ts";
import type { EndAction } from "../core/graph-advance.ts";
import { at } from "../core/graph-at.ts";
import type { Cell } from "./cell.ts";

/** Why a node ends without running: names the upstreams that are the reason. */
export function unmetJoin({ kind, upstream }: EndAction, cells: readonly Cell[]): Failure {
  const names = upstream.map((node) => {
    const { snapshot } = at(cells, node);
    return `${snapshot.node ?? snapshot.name} (${snapshot.status}, ${snapshot.taskId})`;
  });
  const verb = kind === "condition_false" ? "was skipped" : "did not succeed";
  return createFailure({ kind, message: `what it depends on ${verb}: ${names.join(", ")}`, name: kind === "dependency_failed" ? "DependencyFailed" : kind });
}
