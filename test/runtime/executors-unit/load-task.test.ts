import { expect, test } from "vitest";
import { loadTask } from "../../../src/runtime/executors/load-task.ts";
import { contractBodies } from "../../../src/testing/executor-bodies.ts";

const module = new URL("../../contract/fixtures/executor-tasks.ts", import.meta.url).href;
const broken = `data:text/javascript,${encodeURIComponent('throw new Error("no database");')}`;
const odd = `data:text/javascript,${encodeURIComponent(
  'export const none = null; export const text = "returns"; export default { name: "default", options: {}, run: () => 7 }; export const half = { name: "half", options: {} };',
)}`;

test("finds a task by its name, not by the name it is exported under", async () => {
  const run = await loadTask(module, "quiet checkpoints");
  expect(String(run)).toBe(String(contractBodies["quiet checkpoints"]));
});

test("refuses a task that is not there, and shows what is and what looks like it", async () => {
  await expect(loadTask(module, "retruns")).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringMatching(/does not export a task named "retruns"; it exports .*"returns".* Did you mean "returns"\?.* must be exported/),
  });
});

test("passes over what is no task, and finds a default export", async () => {
  const run = await loadTask(odd, "default");
  expect(typeof run).toBe("function");
  await expect(loadTask(odd, "half")).rejects.toThrow('it exports "default"');
  await expect(loadTask("data:text/javascript,", "any")).rejects.toThrow("it exports none");
});

test("refuses a module that does not load, with the reason as its cause", async () => {
  await expect(loadTask(broken, "any")).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringContaining("does not load: no database"),
    cause: { message: "no database" },
  });
  await expect(loadTask("file:///nowhere/tasks.ts", "any")).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringContaining("/nowhere/tasks.ts"),
  });
});
