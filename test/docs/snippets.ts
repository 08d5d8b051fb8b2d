import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A code block of a page. */
interface Block {
  /** What stands after the fence: `ts`, `sh`, `text output`. */
  readonly info: string;
  /** The line of its first line of code, from 0. */
  readonly line: number;
  readonly code: readonly string[];
}

/** The code of one or more `ts` blocks that belong together, each line where it stands in its page. */
export interface Snippet {
  readonly page: string;
  /** `README.md:12`, of its first block. */
  readonly name: string;
  readonly source: string;
  /** What the page says it prints; `null` where it says nothing. */
  readonly output: string | null;
}

/** The pages a person reads, from the root. */
export function findPages(root: string): readonly string[] {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((name) => `docs/${name.replaceAll("\\", "/")}`);
  return ["README.md", ...docs.filter((name) => name.endsWith(".md")).toSorted()];
}

/**
 * The snippets of a page. A `ts` block that imports something begins a module, one that does not goes on in the
 * module before it. A block `text output` after it says what the module prints.
 */
export function readSnippets(root: string, page: string): readonly Snippet[] {
  const modules: { readonly first: number; readonly lines: string[]; output: string | null }[] = [];
  for (const { info, line, code } of readBlocks(readFileSync(join(root, page), "utf8"))) {
    if (info === "ts") {
      if (code.some((text) => text.startsWith("import "))) modules.push({ first: line, lines: [], output: null });
      const lines = lastOf(modules, `${page}:${line}: a ts block before any that imports something`).lines;
      while (lines.length < line) lines.push("");
      lines.push(...code);
    } else if (info === "text output") {
      lastOf(modules, `${page}:${line}: an output without code`).output = `${code.join("\n")}\n`;
    }
  }
  return modules.map(({ first, lines, output }) => ({ page, name: `${page}:${first + 1}`, source: `${lines.join("\n")}\n`, output }));
}

function readBlocks(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let open: { readonly info: string; readonly line: number; readonly code: string[] } | null = null;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^```(.*)$/.exec(line);
    if (fence === null) open?.code.push(line);
    else if (open === null) open = { info: fence[1] ?? "", line: index + 1, code: [] };
    else {
      blocks.push(open);
      open = null;
    }
  }
  return blocks;
}

function lastOf<Item>(list: readonly Item[], problem: string): Item {
  const last = list.at(-1);
  if (last === undefined) throw new Error(problem);
  return last;
}
