import { unreachable } from "./unreachable.ts";

/** What can be held: no task of it is started, and what runs goes on. Source §5.3. */
export type HoldKey =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "tag"; readonly tag: string }
  | { readonly kind: "bucket"; readonly bucket: number }
  | { readonly kind: "run"; readonly runId: string };

/** What decides which holds a task is under. */
export interface Holdable {
  /** The task's registered name. */
  readonly name: string;
  readonly bucket: number | null;
  /** In any order; a tag given twice counts once. */
  readonly tags: readonly string[];
  /** The id of the run it is a node of; `null`: none. */
  readonly run: string | null;
}

/** A text that no other key has. */
export function holdId(key: HoldKey): string {
  switch (key.kind) {
    case "name":
      return `name:${key.name}`;
    case "tag":
      return `tag:${key.tag}`;
    case "bucket":
      return `bucket:${key.bucket}`;
    case "run":
      return `run:${key.runId}`;
    default:
      return unreachable(key);
  }
}

/** Does that key hold the task? */
export function isUnder(task: Holdable, key: HoldKey): boolean {
  switch (key.kind) {
    case "name":
      return task.name === key.name;
    case "tag":
      return task.tags.includes(key.tag);
    case "bucket":
      return task.bucket === key.bucket;
    case "run":
      return task.run === key.runId;
    default:
      return unreachable(key);
  }
}

/** The ids of the keys among these that the task is under, in a fixed order, each once. O(tags). */
export function holdIdsOf(task: Holdable, among: { has(id: string): boolean }): readonly string[] {
  const { name, run, bucket, tags } = task;
  const ids = new Set([`name:${name}`, ...tags.map((tag) => `tag:${tag}`).toSorted()]);
  if (bucket !== null) ids.add(`bucket:${bucket}`);
  if (run !== null) ids.add(`run:${run}`);
  return [...ids].filter((id) => among.has(id));
}

/** What a person can hold: the tasks of a registered name, those with a tag, or those of a bucket. Source §5.3. */
export type HoldTarget = { readonly name: string } | { readonly tag: string } | { readonly bucket: number };

/** A hold, by whom and why. */
export interface Hold {
  readonly target: HoldTarget;
  /** Default `user`. */
  readonly actor: string;
  readonly reason: string | null;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** The target as a key. */
export function holdKeyOf(target: HoldTarget): Exclude<HoldKey, { readonly kind: "run" }> {
  if ("name" in target) return { kind: "name", ...target };
  return "tag" in target ? { kind: "tag", ...target } : { kind: "bucket", ...target };
}

/** For people: `the name "load"`. */
export function holdTargetText({ target }: Pick<Hold, "target">): string {
  const key = holdKeyOf(target);
  return key.kind === "bucket" ? `bucket ${key.bucket}` : `the ${key.kind} ${JSON.stringify(key.kind === "name" ? key.name : key.tag)}`;
}
