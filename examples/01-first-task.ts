import { Controller, task } from "../src/index.ts"; // in your project: "chongming-task"

// A task is a function with a name. The context comes first, the arguments after it.
const countWords = task({ name: "count-words" }, async (ctx, texts: readonly string[]): Promise<number> => {
  let words = 0;
  for (const [index, text] of texts.entries()) {
    await ctx.checkpoint(); // where pause and stop take hold
    words += text.split(/\s+/).length;
    ctx.progress({ done: index + 1, total: texts.length, unit: "texts" });
  }
  return words;
});

const controller = await Controller.open({ tasks: [countWords] });

const handle = await controller.submit(countWords, [["one two", "three", "four five six"]]);
const snapshot = await handle.wait({ timeout: "10s" });
console.log(`${snapshot.name}: ${snapshot.status} in attempt ${snapshot.attempt}`);
console.log(`progress: ${snapshot.progress?.done} of ${snapshot.progress?.total} ${snapshot.progress?.unit}`);
console.log(`result: ${await handle.result()} words`);

await controller.close(); // or `await using controller = …`, from Node 24 on

// Output:
// count-words: succeeded in attempt 1
// progress: 3 of 3 texts
// result: 6 words
