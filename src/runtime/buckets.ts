import { createHash } from "node:crypto";
import { bucketOf } from "../core/bucket.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";

/** The bucket of a task, by its id. */
export type BucketChoice = (taskId: string) => Pick<TaskSnapshot, "bucket" | "bucketKey">;

/** How tasks are spread over buckets. Source §15. */
export class Buckets {
  readonly count: number;

  /** @param count how many there are, ≥ 1 */
  constructor(count: number) {
    this.count = count;
  }

  /** @param key `null`: each task goes by its own id */
  choice(key: string | null): BucketChoice {
    if (key === null) return (taskId) => ({ bucket: this.#of(taskId), bucketKey: taskId });
    const bucket = this.#of(key);
    return () => ({ bucket, bucketKey: key });
  }

  #of(key: string): number {
    return bucketOf(key, this.count, blake2b);
  }
}

/** Where there are no buckets. */
export const NO_BUCKET: BucketChoice = () => NONE;

const NONE = Object.freeze({ bucket: null, bucketKey: null });

function blake2b(text: string): Uint8Array {
  return createHash("blake2b512").update(text, "utf8").digest();
}
