import { Controller } from "../../../src/index.ts";
import { captiveProcess } from "../../carriers/fixtures/captives.ts";
import type { Occupation } from "../../carriers/fixtures/captives.ts";
import { say } from "../support/say.ts";

// A supervisor whose children are all busy with something else. It is ended from outside.
const OCCUPATIONS: readonly Occupation[] = ["waiting", "paused", "busy", "busy and paused", "native call", "grandchild", "ignoring signals"];

const controller = await Controller.open({ tasks: [captiveProcess], processes: { standby: 1 } });
const begun = new Set<string>();
void (async () => {
  for await (const event of controller.events({ types: ["TaskOutput"] })) if (event.type === "TaskOutput" && event.kind === "at") begun.add(event.taskId);
})();
const handles = await Promise.all(OCCUPATIONS.map(async (occupation) => await controller.submit(captiveProcess, [occupation])));
while (begun.size < OCCUPATIONS.length) await new Promise((resolve) => setTimeout(resolve, 5));
for (const [index, occupation] of OCCUPATIONS.entries()) if (occupation.includes("paused")) await handles[index]?.pause();
say({ ready: await Promise.all(handles.map(async (handle) => (await handle.snapshot()).pid)) });
process.on("SIGUSR2", () => process.exit(3));
