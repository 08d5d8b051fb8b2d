import { z } from "zod";
import { Controller, InvalidArguments, task } from "../src/index.ts"; // in your project: "chongming-task"

// The schema describes the tuple of arguments. It is asked before anything is stored, its parsed value is what
// is stored and what the task gets, and the types of the arguments follow from it. Any library with the
// Standard Schema interface will do.
const options = z.object({ day: z.iso.date(), copies: z.coerce.number().int().min(1).default(1) });
const print = task({ name: "print", input: z.tuple([options]) }, (_ctx, { day, copies }): string => `${copies} × ${day}`);

const controller = await Controller.open({ tasks: [print] });

// By name, as the command line does: whatever comes in is unknown until the schema has seen it.
const handle = await controller.submit("print", [{ day: "2026-12-01", copies: "3" }]);
console.log(await handle.result());

try {
  await controller.submit("print", [{ day: "tomorrow", copies: 0 }]);
} catch (error) {
  if (!(error instanceof InvalidArguments)) throw error;
  console.log(error.code);
  for (const issue of error.issues) console.log(`  ${issue.path}: ${issue.message}`);
}
console.log(`stored: ${(await controller.list({ name: "print" })).items.length} task`);

await controller.close();

// Output:
// 3 × 2026-12-01
// INVALID_ARGUMENTS
//   args[0].day: Invalid ISO date
//   args[0].copies: Too small: expected number to be >=1
// stored: 1 task
