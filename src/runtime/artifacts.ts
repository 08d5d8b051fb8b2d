import { mkdirSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { dirname, isAbsolute, resolve, sep } from "node:path";
import { ConfigurationError } from "../core/errors.ts";
import { describeValue } from "../core/describe-value.ts";
import type { Artifacts } from "../core/ports/task-context.ts";

const MAX_NAME_BYTES = 255;

/** The files of one attempt in a folder of their own. Source §3.3. */
export class AttemptArtifacts implements Artifacts {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  path(name: string): string {
    const path = resolve(this.folder, checkFileName(name));
    if (!path.startsWith(this.folder + sep)) throw refusal(name, "it would lead outside the attempt's folder");
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return path;
  }

  async write(name: string, content: string | Uint8Array): Promise<string> {
    const path = this.path(name);
    const draft = `${path}.${randomBytes(6).toString("hex")}.part`;
    try {
      await writeFile(draft, content, { flag: "wx" });
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    return path;
  }
}

function checkFileName(name: unknown): string {
  if (typeof name !== "string" || name.trim() === "") throw refusal(name, "it must be a non-empty text");
  if (isAbsolute(name) || /^[a-z]:/i.test(name)) throw refusal(name, "it must not be an absolute path");
  if (/[\p{Cc}\\]/u.test(name)) throw refusal(name, "it must not hold control characters or backslashes");
  for (const part of name.split("/")) {
    if (part === "" || part === "." || part === "..") throw refusal(name, 'it must not hold empty parts, "." or ".."');
    if (Buffer.byteLength(part) > MAX_NAME_BYTES) throw refusal(name, `each part may have at most ${MAX_NAME_BYTES} bytes`);
  }
  return name;
}

function refusal(name: unknown, why: string): ConfigurationError {
  return new ConfigurationError(`an artifact cannot be named ${describeValue(name)}: ${why}.`);
}
