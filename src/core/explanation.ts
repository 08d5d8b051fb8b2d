import type { Hold } from "./holds.ts";
import type { Join } from "./join.ts";
import type { PausedFrom } from "./snapshot.ts";
import type { RequestedAction, TaskStatus } from "./status.ts";

/** A node upstream that has not ended well, or not at all. */
export interface UpstreamWait {
  readonly node: string;
  readonly taskId: string;
  readonly status: TaskStatus;
}

/** Who holds a slot of a limit. */
export interface SlotHolding {
  readonly taskId: string;
  /** The registered name of its task. */
  readonly name: string;
  /** The node's name inside its run; `null` for a task on its own. */
  readonly node: string | null;
  /** What it was put into its bucket by: its own id where nobody said. `null`: it is in none. */
  readonly bucketKey: string | null;
  /** It is held for the body of an attempt that was given up on and still runs. */
  readonly abandoned: boolean;
}

/** A limit that is used up, and by whom; `holders` names the first of them. */
export interface UsedUp {
  readonly limit: number;
  /** May be above a limit that was lowered. */
  readonly held: number;
  readonly holders: readonly SlotHolding[];
}

/** Why a task is where it is: what it waits for, or what it does. Instants are epoch milliseconds. */
export type ReasonFact =
  /** `pending`: nobody has started it. */
  | { readonly kind: "start" }
  /** `blocked`: `open` nodes upstream have not ended; `nodes` names the first of those that keep it from being let go. */
  | { readonly kind: "upstream"; readonly join: Join; readonly open: number; readonly nodes: readonly UpstreamWait[] }
  | { readonly kind: "delay"; readonly until: number }
  /** `attempt`: the number of the one that failed. */
  | { readonly kind: "backoff"; readonly until: number; readonly attempt: number; readonly failure: string | null }
  | { readonly kind: "hold"; readonly hold: Hold }
  /** Its whole run is paused, by whom and why. */
  | { readonly kind: "run_hold"; readonly runId: string; readonly by: string | null; readonly reason: string | null }
  /** All slots are taken: `held` of `limit`, and `queued` tasks wait for one. */
  | { readonly kind: "global_limit"; readonly limit: number; readonly held: number; readonly queued: number }
  | ({ readonly kind: "semaphore"; readonly tag: string } & UsedUp)
  | ({ readonly kind: "bucket_limit"; readonly bucket: number } & UsedUp)
  /** An item of a map: the map lets only so many of its items go at once (`null`: it lets none go now). */
  | { readonly kind: "map_limit"; readonly map: string; readonly limit: number | null }
  /** An item of a map that is paused, by whom and why; `taskId`: that of the map. */
  | { readonly kind: "map_hold"; readonly map: string; readonly taskId: string; readonly by: string | null; readonly reason: string | null }
  /** It was forced back to the start while a body of it runs. */
  | { readonly kind: "abandoned_body" }
  /** Nothing is in the way: it is begun at once. */
  | { readonly kind: "turn" }
  | { readonly kind: "paused"; readonly by: string | null; readonly reason: string | null; readonly from: PausedFrom | null }
  | { readonly kind: "starting"; readonly since: number | null; readonly attempt: number }
  | { readonly kind: "running"; readonly since: number | null; readonly attempt: number }
  /** It runs, and waits for these tasks and runs (ids); it has lent its slot meanwhile. */
  | { readonly kind: "awaits"; readonly ids: readonly string[] }
  | { readonly kind: "pausing"; readonly by: string | null; readonly reason: string | null }
  | { readonly kind: "stopping"; readonly wish: RequestedAction | null }
  | { readonly kind: "ended"; readonly status: TaskStatus; readonly failure: string | null; readonly bodyRuns: boolean };

/** A reason with the same in words, one line. */
export type Reason = ReasonFact & { readonly text: string };

/** What `explain` answers: why a task is where it is. */
export interface Explanation {
  readonly taskId: string;
  readonly name: string;
  /** The node's name inside its run; `null` for a task on its own. */
  readonly node: string | null;
  readonly status: TaskStatus;
  /**
   * All that holds now, never empty: a task starts when none of those that it waits for is left. While its time has not come
   * (`delay`, `backoff`) no limit is among them: what is used up then is not known.
   */
  readonly reasons: readonly Reason[];
}
