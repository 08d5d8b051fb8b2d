import { describe, expect, it } from "vitest";
import { task } from "../../src/index.ts";
import { call, gate, openStage } from "./stage.ts";

const BY = { actor: "ada", reason: "by hand" } as const;

/** Fails the first time, then gives how often it was called. */
function second() {
  let calls = 0;
  return task({ name: "second" }, () => {
    calls += 1;
    if (calls === 1) throw new Error("not yet");
    return calls;
  });
}

describe("the verbs of a handle", () => {
  it("reset and start run the task anew, and result() is that of the new execution", async () => {
    const again = second();
    await using stage = await openStage({ tasks: [again] });
    const handle = await stage.controller.submit(again);
    await expect(handle.result()).rejects.toThrow("not yet");
    expect(await handle.reset({ confirm: true, ...BY })).toMatchObject({ status: "pending", epoch: 1, attempt: 0 });
    expect(await handle.start(BY)).toMatchObject({ taskId: handle.id });
    await stage.clock.advance(1);
    expect(await handle.result()).toBe(2);
    expect((await stage.controller.history(handle.id)).map(({ actor }) => actor)).toContain("ada");
  });

  it("skip gives result() the outcome", async () => {
    const again = second();
    await using stage = await openStage({ tasks: [again] });
    const handle = await stage.controller.submit(again);
    await handle.wait({ timeout: "1s" });
    expect(await handle.skip({ outcome: 7, ...BY })).toMatchObject({ status: "skipped", skippedBy: "ada" });
    expect(await handle.result()).toBe(7);
  });

  it("forceTransition sets its status by hand", async () => {
    const waits = task({ name: "waits" }, async () => await gate<string>().opened);
    await using stage = await openStage({ tasks: [waits] });
    const handle = await stage.controller.submit(waits);
    await stage.clock.advance(1);
    expect(await handle.forceTransition("succeeded", { ...BY, outcome: "known" })).toMatchObject({ status: "succeeded", overridden: true });
    expect(await handle.result()).toBe("known");
  });

  it("refuse what the controller's refuse", async () => {
    const again = second();
    await using stage = await openStage({ tasks: [again] });
    const handle = await stage.controller.submit(again);
    await handle.wait({ timeout: "1s" });
    await expect(call(handle, "reset", [{}])).rejects.toThrow("confirm: true");
    await expect(call(handle, "forceTransition", ["failed", { actor: "ada" }])).rejects.toThrow("forceTransition: reason");
    await expect(call(handle, "skip", [{ force: true }])).rejects.toThrow('skip has no option "force"');
    await expect(handle.start()).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
  });
});
