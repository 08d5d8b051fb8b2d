import { Controller, task } from "../../../src/index.ts";
import { say } from "../support/say.ts";

// The classic mistake: the module that defines the tasks opens the controller, too, whoever loads it.
export const work = task({ name: "work", executor: "process", module: import.meta.url }, () => "done");

try {
  const controller = await Controller.open({ tasks: [work], processes: { standby: 4 } });
  await (await controller.submit(work)).result();
  say({ outcome: "opened" });
  await controller.close();
} catch (error) {
  say({ outcome: error instanceof Error ? error.message : String(error) });
  throw error;
}
