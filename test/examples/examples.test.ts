import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const run = promisify(execFile);
const folder = fileURLToPath(new URL("../../examples/", import.meta.url));
const examples = readdirSync(folder).filter((name) => /^\d\d-.*\.ts$/.test(name));

/** What stands below `// Output:` at the end of an example. */
function outputIn(source: string): string {
  const [, output] = source.split("\n// Output:\n");
  if (output === undefined) throw new Error("the example does not end with a comment `// Output:`");
  return output.replaceAll(/^\/\/ ?/gm, "");
}

describe("the examples", () => {
  it("are found", () => {
    expect(examples.length).toBeGreaterThanOrEqual(7);
  });

  for (const name of examples) {
    const source = readFileSync(folder + name, "utf8");

    it.concurrent(`${name} prints what its last lines say`, { timeout: 60_000 }, async () => {
      const { stdout, stderr } = await run(process.execPath, ["--no-warnings", folder + name], { timeout: 50_000 });
      expect(stdout).toBe(outputIn(source));
      expect(stderr).toBe("");
    });

    it(`${name} is under 60 lines`, () => {
      expect(source.split("\n").length - 1).toBeLessThan(60);
    });
  }
});
