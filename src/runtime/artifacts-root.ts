import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Where the attempts of a controller keep their files: a folder of the user's, or a temporary one that goes with the controller. */
export class ArtifactsRoot {
  readonly #root: string;
  readonly #temporary: boolean;

  /** @param nodeId random, so that no other controller has the same temporary folder */
  constructor(given: string | null, nodeId: string) {
    this.#root = given === null ? join(tmpdir(), `chongming-${nodeId}`) : resolve(given);
    this.#temporary = given === null;
  }

  /** The folder of one attempt. It is made when its first file is. */
  folder(taskId: string, epoch: number, attempt: number): string {
    return join(this.#root, taskId, `${epoch}-${attempt}`);
  }

  async close(): Promise<void> {
    if (this.#temporary) await rm(this.#root, { recursive: true, force: true });
  }
}
