import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder in which cues appear as files: the one thing that every carrier can see while it runs. */
export class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), "carrier-stage-"));

  cue(...names: readonly string[]): void {
    for (const name of names) writeFileSync(this.path(name), "");
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
