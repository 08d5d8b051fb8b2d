import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EVENT_TYPES, WARNING_CODES } from "../../src/core/events.ts";
import { FAILURE_KINDS } from "../../src/core/failure.ts";
import { joinTruthTable } from "../../src/core/join-table.ts";
import type { JoinVerdict } from "../../src/core/join.ts";
import { TRIGGERS } from "../../src/core/lifecycle-events.ts";
import { TASK_STATUSES } from "../../src/core/status.ts";
import { VERBS, VERB_TABLE } from "../../src/core/verbs.ts";
import { referencePages } from "../../tools/reference/pages.ts";
import { EXPECTED_EDGES } from "../core/expected-transitions.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const tool = join(root, "tools/generate-reference.ts");
const PAGES = [...referencePages()].map(([name, text]) => ({ name, text }));

function generate(...args: readonly string[]): Promise<{ readonly exitCode: number; readonly output: string }> {
  return new Promise((done) => {
    const child = execFile(process.execPath, [tool, ...args], (_error, stdout, stderr) => done({ exitCode: child.exitCode ?? -1, output: stdout + stderr }));
  });
}

function pageText(name: string): string {
  return referencePages().get(`docs/reference/${name}.md`) ?? "";
}

describe("the reference pages", () => {
  it.each(PAGES)("$name is up to date (else: npm run docs)", async ({ name, text }) => {
    expect(await readFile(join(root, name), "utf8")).toBe(text);
  });

  it.each(PAGES)("$name says at once that it is generated, and by what", ({ text }) => {
    expect(text.split("\n").slice(0, 3).join("\n")).toMatch(/generated from the source by `npm run docs`/);
  });

  it.each(PAGES)("$name links to pages that exist", ({ name, text }) => {
    const targets = [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map((match) => match[1] ?? "");
    expect(targets.filter((target) => !existsSync(resolve(root, dirname(name), target)))).toEqual([]);
  });

  it.each(PAGES)("$name has tables whose rows all have as many cells as their head", ({ text }) => {
    const ragged = text
      .split("\n\n")
      .filter((block) => block.startsWith("|"))
      .filter((block) => new Set(block.split("\n").map((row) => row.split(/(?<!\\)\|/).length)).size !== 1);
    expect(ragged).toEqual([]);
  });

  it("the diagram has every row of the transition table and no other", () => {
    const [, diagram = ""] = /```mermaid\nstateDiagram-v2\n([^`]*)```/.exec(pageText("lifecycle")) ?? [];
    const edges = diagram.split("\n").filter((line) => line.includes("-->") && !line.includes("[*]"));
    expect(edges.map((line) => line.trim().replace("-->", "→")).toSorted()).toEqual([...EXPECTED_EDGES].toSorted());
  });

  it("lifecycle.md has every status and every row of the verb table", () => {
    const lines = pageText("lifecycle").split("\n");
    for (const status of TASK_STATUSES) expect(lines.filter((line) => line.startsWith(`| \`${status}\` |`)).length, status).toBeGreaterThanOrEqual(2);
    const head = lines.findIndex((line) => line.startsWith("| status | `start` |"));
    expect(lines.slice(head + 2, head + 2 + 16).map((line) => line.split("|")[1]?.replaceAll("`", "").trim())).toEqual(Object.keys(VERB_TABLE));
    expect(lines[head]?.split("|").length).toBe(VERBS.length + 3);
  });

  it("joins.md has each join over each pair of upstreams, as the table in core says", () => {
    const word = (verdict: JoinVerdict): string => {
      if (typeof verdict === "string") return verdict === "ready" ? "runs" : "waits";
      return verdict.unmet === "skipped" ? "skipped" : "unmet";
    };
    const expected = joinTruthTable().flatMap(({ join: name, upstreams: [first, second], verdict }) =>
      [...new Set([`${first}, ${second}`, `${second}, ${first}`])].map((pair) => `${name} over ${pair}: ${word(verdict)}`),
    );
    const found: string[] = [];
    for (const [, name = "", block = ""] of pageText("joins").matchAll(/^## `(\w+)`\n\n[^|]*(\|[^#]*)/gm)) {
      const [head = [], , ...rows] =
        block
          .split("\n\n", 1)[0]
          ?.split("\n")
          .map((line) =>
            line
              .split("|")
              .map((cell) => cell.trim())
              .slice(1, -1),
          ) ?? [];
      for (const [first = "", ...words] of rows) for (const [index, cell] of words.entries()) found.push(`${name} over ${first}, ${head[index + 1]}: ${cell}`);
    }
    expect(found.toSorted()).toEqual(expected.toSorted());
  });

  it("events.md has every event, warning, trigger and failure kind", () => {
    for (const name of [...Object.keys(EVENT_TYPES), ...WARNING_CODES, ...Object.values(TRIGGERS), ...FAILURE_KINDS])
      expect(pageText("events")).toContain(`| \`${name}\` |`);
  });
});

describe("tools/generate-reference.ts", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "reference-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it("--check fails on missing and on stale pages, names them, and writes nothing", async () => {
    const missing = await generate("--check", folder);
    expect(missing.exitCode).toBe(1);
    for (const { name } of PAGES) expect(missing.output).toContain(`${name} is stale`);
    expect(existsSync(join(folder, "docs"))).toBe(false);

    expect((await generate(folder)).exitCode).toBe(0);
    expect(await generate("--check", folder)).toMatchObject({ exitCode: 0, output: `reference: ${PAGES.length} pages, 0 stale\n` });

    await appendFile(join(folder, "docs/reference/errors.md"), "edited by hand\n");
    const stale = await generate("--check", folder);
    expect(stale.exitCode).toBe(1);
    expect(stale.output).toContain("docs/reference/errors.md is stale");
    expect(stale.output).not.toContain("lifecycle.md is stale");
  });
});
