import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { findPages } from "./snippets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** The links of a page to other files of the repository, as paths from the root. */
function linksOf(page: string): readonly string[] {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/^```[^]*?^```/gm, "");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => !/^(?:https?:|#)/.test(target)).map((target) => relative(root, join(root, dirname(page), target.replace(/#.*$/, ""))));
}

describe("the links of README and docs", () => {
  const pages = findPages(root);

  it.each(pages)("%s links to files that exist", (page) => {
    expect(linksOf(page).filter((target) => !existsSync(join(root, target)))).toEqual([]);
  });

  it("lead from the index of docs to every page but the index itself", () => {
    const reached = new Set(["README.md", "docs/README.md"]);
    for (const page of reached) for (const target of linksOf(page)) if (pages.includes(target)) reached.add(target);
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });
});
