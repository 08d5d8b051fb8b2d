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
    "bin/chongming.cjs",
    "bin/start.cjs",
    "dist/index.js",
    "dist/index.d.ts",
    "dist/testing/index.js",
    "dist/testing/index.d.ts",
    "dist/cli/main.js",
  ],
  allowed: [/^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md)$/, /^bin\/[a-z-]+\.cjs$/, /^dist\/.+\.(?:js|d\.ts|sql|html|css)$/, /^docs\/.+/],
};

/** What is missing from the packed files, and what has no business among them; nothing when all is well. */
export function refuseContents(files: readonly string[], contents: PackageContents): readonly string[] {
  const missing = contents.required.filter((file) => !files.includes(file)).map((file) => `missing: ${file}`);
  const surplus = files.filter((file) => !contents.allowed.some((pattern) => pattern.test(file))).map((file) => `has no business there: ${file}`);
  return [...missing, ...surplus];
}
