import { posix } from "node:path";

export interface PackageContents {
  /** Files that the package is useless without. */
  readonly required: readonly string[];
  /** Whatever is in it lies here. */
  readonly allowed: readonly RegExp[];
}

export const PACKAGE_CONTENTS: PackageContents = {
  required: [
    "package.json",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "bench/README.md",
    "examples/01-first-task.ts",
    "bin/chongming.cjs",
    "bin/start.cjs",
    "dist/index.js",
    "dist/index.d.ts",
    "dist/testing/index.js",
    "dist/testing/index.d.ts",
    "dist/cli/main.js",
  ],
  allowed: [
    /^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|bench\/README\.md)$/,
    /^bin\/[a-z-]+\.cjs$/,
    /^dist\/.+\.(?:js|d\.ts|sql|html|css)$/,
    /^docs\/.+/,
    /^examples\/.+\.ts$/,
  ],
};

/** The files that `npm pack --json` names. */
export function packedFiles(output: string): readonly string[] {
  const packed = JSON.parse(output.slice(output.indexOf("["))) as readonly { readonly files: readonly { readonly path: string }[] }[];
  return packed[0]?.files.map((file) => file.path) ?? [];
}

/** What is missing from the packed files, and what has no business among them; nothing when all is well. */
export function refuseContents(files: readonly string[], contents: PackageContents): readonly string[] {
  const missing = contents.required.filter((file) => !files.includes(file)).map((file) => `missing: ${file}`);
  const surplus = files.filter((file) => !contents.allowed.some((pattern) => pattern.test(file))).map((file) => `has no business there: ${file}`);
  return [...missing, ...surplus];
}

/** The links of the packed pages (path → text) that lead to nothing in the package; a folder is there where a file of it is. */
export function refuseLinks(files: readonly string[], pages: ReadonlyMap<string, string>): readonly string[] {
  const isThere = (target: string): boolean => files.some((file) => file === target || file.startsWith(`${target}/`));
  return [...pages].flatMap(([page, text]) =>
    linksOf(text)
      .filter((link) => !isThere(posix.join(posix.dirname(page), link)))
      .map((link) => `${page}: its link leads out of the package: ${link}`),
  );
}

/** Those to other files, without their anchors. */
function linksOf(text: string): readonly string[] {
  const prose = text.replaceAll(/^```[^]*?^```/gm, "");
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  return links.filter((link) => !/^(?:[a-z]+:|#)/.test(link)).map((link) => link.replace(/#.*$/, "").replace(/\/$/, ""));
}
