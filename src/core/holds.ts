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
