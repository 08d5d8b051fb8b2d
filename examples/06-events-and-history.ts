import { Controller, task } from "../src/index.ts"; // in your project: "chongming-task"

const copy = task({ name: "copy" }, async (ctx, files: readonly string[]): Promise<void> => {
  for (const [index, file] of files.entries()) {
    await ctx.checkpoint();
    ctx.log.info(`copying ${file}`);
    ctx.progress({ done: index + 1, total: files.length, unit: "files" });
    ctx.emit("copied", { file });
  }
});

const controller = await Controller.open({ tasks: [copy] });
const handle = await controller.submit(copy, [["a.txt", "b.txt"]]);

// A task's events come from its making on, also those from before you asked, and end with it. What is stored
// (statuses, attempts) is published only once it is stored; log, progress and output go beside it.
for await (const event of handle.events({ types: ["TaskStatusChanged", "TaskLogLine", "TaskOutput"] })) {
  if (event.type === "TaskStatusChanged") console.log(`${event.from} -> ${event.to}`);
  else if (event.type === "TaskLogLine") console.log(`  log: ${event.message}`);
  else if (event.type === "TaskOutput") console.log(`  ${event.kind}: ${JSON.stringify(event.payload)}`);
}

// The history answers who did what and why, long after.
for (const step of await controller.history(handle.id)) console.log(`#${step.statusVersion} ${step.to}: ${step.trigger} by ${step.actor}`);

await controller.close();

// Output:
// pending -> queued
// queued -> starting
// starting -> running
//   log: copying a.txt
//   copied: {"file":"a.txt"}
//   log: copying b.txt
//   copied: {"file":"b.txt"}
// running -> succeeded
// #1 queued: scheduler:ready by system
// #2 starting: scheduler:dispatch by system
// #3 running: executor:launched by system
// #4 succeeded: executor:finished by system
