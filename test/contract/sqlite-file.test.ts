import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError, StoreError } from "../../src/core/errors.ts";
import { sqliteStore } from "../../src/stores/sqlite/store.ts";
import { clearFolders, storeFolder } from "./store-kinds.ts";
import { changeOf, creationOf, RUN } from "./stored-tasks.ts";

const WRITER = fileURLToPath(new URL("fixtures/sqlite-writer.ts", import.meta.url));

let path: string;

beforeEach(() => {
  path = join(storeFolder(), "tasks.db");
});

afterEach(clearFolders);

async function opened(file: string = path): Promise<ReturnType<typeof sqliteStore>> {
  const store = sqliteStore(file);
  await store.open();
  return store;
}

/** A writer in a process of its own. */
function writer(name: string, count: number, contested = ""): ReturnType<typeof spawn> {
  return spawn(process.execPath, ["--disable-warning=ExperimentalWarning", WRITER, path, name, String(count), contested], {
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function output(child: ReturnType<typeof spawn>): Promise<{ readonly stdout: string; readonly stderr: string; readonly code: unknown }> {
  if (child.stdout === null || child.stderr === null) throw new Error("it has no pipes");
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { stdout, stderr, code };
}

describe("the path and the options", () => {
  test.each(["", ":memory:", "file:x.db", "a\0b", 5, null, undefined])("%o is no path of a file", (given) => {
    expect(() => Reflect.apply(sqliteStore, undefined, [given])).toThrow(ConfigurationError);
  });

  test.each([{ durability: "disk" }, { maxValueBytes: 0 }, { wal: true }])("the options %o are refused", (options) => {
    expect(() => Reflect.apply(sqliteStore, undefined, [path, options])).toThrow(ConfigurationError);
  });
});

describe("the file", () => {
  test("is there for its owner alone, holds what was stored, and is whole again after the next opening", async () => {
    const store = await opened();
    const creation = creationOf("a", { tags: ["io"] }, [new Date(5)]);
    await store.tasks.create([creation]);
    await store.tasks.commit([changeOf(creation.snapshot, ...RUN, { type: "succeeded", outcome: 7n })]);
    await store.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const again = await opened();
    expect(await again.tasks.get("a")).toMatchObject({ status: "succeeded", outcome: 7n, tags: ["io"] });
    expect(await again.tasks.payload("a")).toMatchObject({ args: [new Date(5)] });
    expect(await again.audit.history("a")).toHaveLength(4);
    await again.close();
  });

  test("takes both durabilities", async () => {
    const store = sqliteStore(path, { durability: "power" });
    await store.open();
    await store.tasks.create([creationOf("a")]);
    await store.close();
    expect(await (await opened()).tasks.get("a")).toBeDefined();
  });

  test.each<readonly [string, () => void, RegExp]>([
    ["in a folder that is not there", () => (path = join(storeFolder(), "no", "tasks.db")), /cannot be opened \(ENOENT\)/],
    ["that is a folder", () => mkdirSync(path), /cannot be opened \(EISDIR\)/],
    ["that is no database", () => writeFileSync(path, "something else ".repeat(100)), /is no SQLite database/],
    ["of another program", () => new DatabaseSync(path).exec("CREATE TABLE theirs (x)"), /database of another program/],
    ["with a newer schema", () => newer(path), /has schema 99, and this version .* knows 1/],
  ])("%s is refused on opening, and left as it was", async (_name, make, message) => {
    make();
    const before = existsSync(path) && statSync(path).isFile() ? readFileSync(path) : null;
    const refused = opened();
    await expect(refused).rejects.toThrow(StoreError);
    await expect(refused).rejects.toThrow(message);
    if (before !== null) expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("that is damaged says so where it is read", async () => {
    const store = await opened();
    await store.tasks.create(Array.from({ length: 300 }, (_, index) => creationOf(`t${index}`)));
    await store.close();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 4096, bytes.length);
    writeFileSync(path, bytes);
    const problem: unknown = await opened()
      .then(
        async (broken) => await broken.tasks.query({ limit: 300 }),
        (error: unknown) => error,
      )
      .catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(StoreError);
    expect(String(problem)).toMatch(/damaged/);
  });

  // Root may write to what is read-only.
  test.skipIf(process.getuid?.() === 0)("that is read-only is refused", async () => {
    await (await opened()).close();
    chmodSync(path, 0o400);
    await expect(opened()).rejects.toThrow(/read-only|EACCES/);
  });

  test("that is full loses nothing: the write fails as one that may succeed later, and does when there is room", async () => {
    const store = await opened();
    const filler = new DatabaseSync(path);
    await store.tasks.create([creationOf("a")]);
    const pages = Number(filler.prepare("PRAGMA page_count").get()?.["page_count"]);
    filler.close();
    await store.close();
    const limited = await openedWithPages(pages + 2);
    const many = Array.from({ length: 500 }, (_, index) => creationOf(`t${index}`));
    const refused: unknown = await limited.tasks.create(many).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(StoreError);
    expect(refused).toMatchObject({ transient: true, message: expect.stringContaining("disk is full") });
    expect((await limited.tasks.query({})).items.map(({ taskId }) => taskId)).toEqual(["a"]);
    await limited.close();
    const roomy = await opened();
    await roomy.tasks.create(many);
    expect((await roomy.tasks.counts({})).pending).toBe(501);
    await roomy.close();
  });

  test("is closed behind the writes that were asked for before", async () => {
    const store = await opened();
    const made = store.tasks.create([creationOf("a")]);
    const second = store.tasks.create([creationOf("b")]);
    await store.close();
    await Promise.all([made, second]);
    expect((await (await opened()).tasks.query({})).items).toHaveLength(2);
  });

  test("says nothing of the module it is made with", async () => {
    const child = spawn(process.execPath, [WRITER, path, "quiet", "1"], { stdio: ["ignore", "pipe", "pipe"] });
    expect(await output(child)).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("several processes on one file", () => {
  test("are never told that it is busy, lose nothing, and of each version there is one winner", async () => {
    const store = await opened();
    await store.tasks.create([creationOf("contested")]);
    const ends = await Promise.all(["p", "q", "r"].map(async (name) => await output(writer(name, 60, "contested"))));
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual(ends.map(() => [0, ""]));
    expect((await store.tasks.counts({})).running).toBe(180);
    const wins = ends.flatMap(({ stdout }) => stdout.split("\n")).filter((line) => line === "won").length;
    expect((await store.tasks.get("contested"))?.statusVersion).toBe(wins);
    expect(wins).toBeGreaterThan(0);
    await store.close();
  });

  test("a write waits for the lock of another without standing in the way of the loop", async () => {
    const store = await opened();
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const written = store.tasks.create([creationOf("a")]);
    let turns = 0;
    for (; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(await store.tasks.get("a")).toBeUndefined();
    other.exec("COMMIT");
    other.close();
    await written;
    expect(await store.tasks.get("a")).toBeDefined();
    await store.close();
  });

  test("what one was told is stored is there when it is killed", async () => {
    const child = writer("k", 1_000_000);
    let said = "";
    child.stdout?.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
    while (said.split("\n").length < 20) await once(child.stdout ?? child, "data");
    child.kill("SIGKILL");
    await once(child, "close");
    const told = said.split("\n").slice(0, -1);
    const store = await opened();
    for (const taskId of told) expect(await store.tasks.get(taskId)).toMatchObject({ status: "running" });
    for (const taskId of told) expect(await store.audit.history(taskId)).toHaveLength(3);
    await store.close();
  });
});

/** The limit is a connection's own: it is set in that of the store, while it opens. */
async function openedWithPages(pages: number): Promise<ReturnType<typeof sqliteStore>> {
  const real: unknown = Reflect.get(DatabaseSync.prototype, "exec");
  if (typeof real !== "function") throw new TypeError("there is no exec");
  const limiting = vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function limited(this: DatabaseSync, sql: string) {
    Reflect.apply(real, this, [sql]);
    if (sql.startsWith("PRAGMA synchronous")) Reflect.apply(real, this, [`PRAGMA max_page_count = ${pages}`]);
  });
  try {
    return await opened();
  } finally {
    limiting.mockRestore();
  }
}

function newer(file: string): void {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA application_id = 0x63686e67; PRAGMA user_version = 99; CREATE TABLE task (x)");
  database.close();
}
