import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, sep } from "node:path";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { AttemptArtifacts } from "../../src/runtime/artifacts.ts";
import { ArtifactsRoot } from "../../src/runtime/artifacts-root.ts";

let root: string;
let artifacts: AttemptArtifacts;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "chongming-artifacts-"));
  artifacts = new AttemptArtifacts(join(root, "t1", "0-1"));
});

afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

describe("a file of an attempt", () => {
  test("is written whole, in a folder that is made for it, and nothing else is left there", async () => {
    expect(existsSync(artifacts.folder)).toBe(false);
    const path = await artifacts.write("parts/1.csv", "a;b\n");
    expect(path).toBe(join(artifacts.folder, "parts", "1.csv"));
    expect(await readFile(path, "utf8")).toBe("a;b\n");
    expect(await readdir(dirname(path))).toEqual(["1.csv"]);
  });

  test("written again is the new one; bytes are as good as text", async () => {
    await artifacts.write("x.bin", "old");
    const path = await artifacts.write("x.bin", new Uint8Array([1, 2]));
    expect([...(await readFile(path))]).toEqual([1, 2]);
  });

  test("that cannot be written leaves the old one and no draft", async () => {
    const path = await artifacts.write("x.txt", "old");
    // A folder cannot be renamed over.
    await expect(artifacts.write("x.txt/below", "new")).rejects.toThrow(/EEXIST|ENOTDIR/);
    artifacts.path("folder/file");
    await expect(artifacts.write("folder", "new")).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    expect(await readFile(path, "utf8")).toBe("old");
    expect((await readdir(artifacts.folder)).toSorted()).toEqual(["folder", "x.txt"]);
  });

  test("has a path whose folder is there, for the task to write to itself", async () => {
    const path = artifacts.path("deep/er/file");
    expect((await stat(dirname(path))).isDirectory()).toBe(true);
    expect(existsSync(path)).toBe(false);
  });

  test.runIf(process.platform !== "win32")("lies in a folder that is for its owner alone", async () => {
    artifacts.path("file");
    expect((await stat(artifacts.folder)).mode & 0o777).toBe(0o700);
  });
});

describe("a name", () => {
  const hostile: readonly unknown[] = [
    "",
    " ",
    ".",
    "..",
    "../x",
    "a/../../x",
    "a/..",
    "/etc/passwd",
    "C:\\x",
    "c:x",
    "..\\x",
    "a\\b",
    "a//b",
    "a/",
    "a\u0000b",
    "a\nb",
    "x".repeat(256),
    "語".repeat(86),
    7,
    null,
    undefined,
    {},
  ];
  test.each(hostile)("%j is refused, and nothing is made", (name) => {
    expect(() => artifacts.path(name as string)).toThrow(ConfigurationError);
    expect(existsSync(artifacts.folder)).toBe(false);
  });

  test.each(["a", "a.b", "...", "..a", "a..", "x".repeat(255), "語.txt", "a b", "-rf", "~", "$HOME", "ab:c"])("%j is taken", (name) => {
    expect(basename(artifacts.path(name))).toBe(name);
  });

  test("whatever it is, leads into the folder or is refused", () => {
    const part = fc.oneof(fc.constantFrom("..", ".", "", "~", "C:", "con", "\\", "\u0000", "%2e%2e", "．．"), fc.string({ maxLength: 6 }));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 5 }), fc.constantFrom("/", "\\", "//"), (parts, separator) => {
        let path: string;
        try {
          path = artifacts.path(parts.join(separator));
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigurationError);
          return;
        }
        expect(path.startsWith(artifacts.folder + sep)).toBe(true);
      }),
    );
  });
});

describe("the folder of an attempt", () => {
  test("is its own: a retry and a new epoch never meet what another has left", () => {
    const where = new ArtifactsRoot(root, "n1");
    const folders = [
      where.folder("t1", 0, 1),
      where.folder("t1", 0, 2),
      where.folder("t1", 1, 1),
      where.folder("t2", 0, 1),
      where.folder("t1", 11, 1),
      where.folder("t1", 1, 11),
    ];
    expect(new Set(folders).size).toBe(folders.length);
    expect(folders.every((folder) => folder.startsWith(root + sep))).toBe(true);
  });

  test("goes with the controller where it is temporary, and stays where the user has named it", async () => {
    const temporary = new ArtifactsRoot(null, basename(root));
    const other = new AttemptArtifacts(temporary.folder("t1", 0, 1));
    const [gone, kept] = [await other.write("x", "1"), await artifacts.write("x", "1")];
    await temporary.close();
    await new ArtifactsRoot(root, "n1").close();
    expect([existsSync(gone), existsSync(kept)]).toEqual([false, true]);
    expect(existsSync(dirname(dirname(dirname(gone))))).toBe(false);
    await temporary.close();
  });
});
