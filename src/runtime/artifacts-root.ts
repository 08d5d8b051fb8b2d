import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ownedName, removeAbandoned } from "./abandoned-folders.ts";

/** Looked for once in a process: by the first controller that has a temporary folder. */
let looking: Promise<void> | null = null;

/** Where the attempts of a controller keep their files: a folder of the user's, or a temporary one that goes with the controller. */
export class ArtifactsRoot {
  readonly #root: string;
  readonly #temporary: boolean;

  /** @param nodeId random, so that no other controller has the same temporary folder */
  constructor(given: string | null, nodeId: string) {
    this.#root = given === null ? join(tmpdir(), ownedName(nodeId)) : resolve(given);
    this.#temporary = given === null;
  }

  /** Begins to remove what controllers have left behind that ended without closing. Nobody waits for it but `close`. */
  open(): void {
    if (this.#temporary) looking ??= removeAbandoned(tmpdir());
  }

  /** The folder of one attempt. It is made when its first file is. */
  folder(taskId: string, epoch: number, attempt: number): string {
    return join(this.#root, taskId, `${epoch}-${attempt}`);
  }

  async close(): Promise<void> {
    if (!this.#temporary) return;
    await looking;
    await rm(this.#root, { recursive: true, force: true });
  }
}
