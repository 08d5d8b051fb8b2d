import { describe, expect, it } from "vitest";
import { definePipeline, task } from "../../src/index.ts";
import type { ControllerOptions, Logger } from "../../src/index.ts";
import { openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

const query = task({ name: "query", tags: ["db", "eu"] }, () => 1);
const mail = task({ name: "mail", tags: ["mail"] }, () => 1);
const nightly = definePipeline("nightly", {}, (p) => p.add(mail));

interface Listened extends AsyncDisposable {
  readonly controller: Stage["controller"];
  /** What was said since it was last asked. */
  readonly said: () => readonly string[];
}

async function listen(options: ControllerOptions): Promise<Listened> {
  const warnings: string[] = [];
  const logger: Logger = { debug() {}, info() {}, error() {}, warn: (message) => void warnings.push(message) };
  const stage = await openStage({ logger, ...options });
  return { controller: stage.controller, said: () => warnings.splice(0), [Symbol.asyncDispose]: async () => await stage[Symbol.asyncDispose]() };
}

const LATER = "It takes effect as soon as a task has it.";

describe("a tag that no task has", () => {
  it("is told of where a limit is opened, changed or lifted, with the nearest one", async () => {
    await using stage = await listen({ tasks: [query], concurrency: { limits: { dbb: 3, eu: 2, db: 1 } } });
    expect(stage.said()).toEqual([`concurrency.limits: no task known here has the tag "dbb". Did you mean "db"? ${LATER}`]);
    await stage.controller.setLimits({ limits: { ue: 4, eu: 5, db: null } });
    expect(stage.said()).toEqual([`setLimits: limits: no task known here has the tag "ue". Did you mean "eu"? ${LATER}`]);
    await stage.controller.setLimits({ limits: { bd: null } });
    expect(stage.said()).toEqual([`setLimits: limits: no task known here has the tag "bd". Did you mean "db"? ${LATER}`]);
    expect(stage.controller.limits.limits).toEqual({ dbb: 3, ue: 4, eu: 5 });
  });

  it("is told of where it is held or released in vain, and held all the same", async () => {
    await using stage = await listen({ tasks: [query] });
    await stage.controller.hold({ tag: "dbb" });
    expect(stage.said()).toEqual([`hold: no task known here has the tag "dbb". Did you mean "db"? ${LATER}`]);
    expect(await stage.controller.holds()).toMatchObject([{ target: { tag: "dbb" } }]);
    await stage.controller.hold({ tag: "db" });
    expect(await stage.controller.release({ tag: "bd" })).toBe(false);
    expect(stage.said()).toEqual([`release: no task known here has the tag "bd". Did you mean "db"? ${LATER}`]);
    await stage.controller.release({ tag: "db" });
    await stage.controller.release({ tag: "dbb" });
    expect(stage.said()).toEqual([]);
  });

  it("is told of once", async () => {
    await using stage = await listen({ tasks: [query] });
    await stage.controller.hold({ tag: "other" });
    await stage.controller.hold({ tag: "other" });
    await stage.controller.setLimits({ limits: { other: 1 } });
    expect(stage.said()).toEqual([`hold: no task known here has the tag "other". ${LATER}`]);
    await stage.controller.setLimits({ limits: { other: null } });
    expect(stage.said()).toEqual([]);
  });

  it("is known where a submit has brought it", async () => {
    await using stage = await listen({ tasks: [query] });
    await stage.controller.submit(query, [], { tags: ["tenant-7"] });
    await stage.controller.hold({ tag: "tenant-7" });
    expect(stage.said()).toEqual([]);
  });

  it("may be that of a node: it is told of when every pipeline has been built, or at once where it is near to another", async () => {
    await using stage = await listen({ tasks: [query], pipelines: [nightly], concurrency: { limits: { mail: 1, fax: 1 } } });
    await stage.controller.hold({ tag: "dbb" });
    expect(stage.said()).toEqual([expect.stringContaining('"dbb"')]);
    await stage.controller.startRun(nightly);
    expect(stage.said()).toEqual([`concurrency.limits: no task known here has the tag "fax". ${LATER}`]);
    await stage.controller.setLimits({ limits: { mail: 2 } });
    await stage.controller.hold({ tag: "mial" });
    expect(stage.said()).toEqual([`hold: no task known here has the tag "mial". Did you mean "mail"? ${LATER}`]);
  });

  it("is no matter of a logger that throws", async () => {
    const logger: Logger = {
      debug() {},
      info() {},
      error() {},
      warn() {
        throw new Error("the disk is full");
      },
    };
    await using stage = await openStage({ tasks: [query], logger, concurrency: { limits: { dbb: 1 } } });
    expect(await stage.controller.setLimits({ limits: { bd: 1 } })).toMatchObject({ limits: { dbb: 1, bd: 1 } });
    expect(await stage.controller.hold({ tag: "ddb" })).toMatchObject({ target: { tag: "ddb" } });
  });
});
