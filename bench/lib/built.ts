import { existsSync } from "node:fs";
import type * as Product from "../../src/index.ts";

const entry = new URL("../../dist/index.js", import.meta.url);
if (!existsSync(entry)) throw new Error("it is not built: run npm run build");

/** What users run. From source, each child would first compile the whole library, and that would be measured with it. */
export const { Controller, task } = (await import(entry.href)) as typeof Product;
