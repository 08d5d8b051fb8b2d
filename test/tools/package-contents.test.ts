import { expect, test } from "vitest";
import { PACKAGE_CONTENTS, refuseContents } from "../../tools/package-contents.ts";

test("the required files alone are a whole package", () => {
  expect(refuseContents(PACKAGE_CONTENTS.required, PACKAGE_CONTENTS)).toEqual([]);
});

test("a missing file is named", () => {
  const files = PACKAGE_CONTENTS.required.filter((file) => file !== "LICENSE");
  expect(refuseContents(files, PACKAGE_CONTENTS)).toEqual(["missing: LICENSE"]);
});

test.each(["src/index.ts", "test/a.test.ts", "dist/.tsbuildinfo", "node_modules/a/index.js", ".npmrc", "dist/index.ts"])("%s has no business there", (file) => {
  expect(refuseContents([...PACKAGE_CONTENTS.required, file], PACKAGE_CONTENTS)).toEqual([`has no business there: ${file}`]);
});
