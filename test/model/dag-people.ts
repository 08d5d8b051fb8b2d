import { TaskError } from "../../src/index.ts";
import type { RunHandle } from "../../src/index.ts";
import { pick } from "../core/graph-model.ts";
import type { DagWorld } from "./dag-world.ts";

const NODE_VERBS = ["pause", "pause", "resume", "resume", "stop", "cancel", "skip", "retry", "retry", "start", "reset"] as const;

const RUN_VERBS = ["stop", "cancel", "pause", "pause", "resume", "resume", "retry", "retry", "retry"] as const;

/** What was asked and may take its time. */
interface Asked {
  readonly what: string;
  isSettled: boolean;
}

/** People who meddle with the nodes of runs, and with the runs, at any moment. */
export class People {
  readonly wrong: string[] = [];
  /** How many of their wishes were not refused. */
  granted = 0;
  readonly #world: DagWorld;
  readonly #random: () => number;
  readonly #asked: Asked[] = [];

  constructor(world: DagWorld, random: () => number) {
    world.isMeddledWith = true;
    this.#world = world;
    this.#random = random;
  }

  /** Some wishes in one breath, then a little time. */
  async meddle(): Promise<void> {
    for (let wishes = 1 + Math.floor(this.#random() * 3); wishes > 0; wishes -= 1) {
      const run = pick(this.#world.runs, this.#random);
      if (this.#random() < 0.1) this.#askRun(run);
      else this.#askNode(pick(this.#world.tasksOf(run), this.#random), pick(NODE_VERBS, this.#random));
    }
    await this.#world.clock.advance(pick([0, 1, 5, 20, 50], this.#random));
  }

  /** Nothing stays in anybody's hands: what is paused goes on, what was reset is started. */
  async letGo(): Promise<void> {
    for (let round = 0; round < 20; round += 1) {
      await this.#world.clock.advance("1m");
      for (const run of this.#world.runs) {
        const { status: stands } = run.summary();
        if (stands === "paused" || stands === "pausing") this.#ask(`last resume of run ${run.name}`, run.resume());
        for (const taskId of this.#world.tasksOf(run)) {
          const { status } = await this.#world.controller.get(taskId);
          if (status === "paused") this.#askNode(taskId, "resume");
          if (status === "pending") this.#askNode(taskId, "start");
        }
      }
    }
    for (const { what, isSettled } of this.#asked) if (!isSettled) this.wrong.push(`never answered: ${what}`);
  }

  #askNode(taskId: string, verb: (typeof NODE_VERBS)[number]): void {
    const { controller } = this.#world;
    const grace = pick([0, 5, 10_000], this.#random);
    switch (verb) {
      case "stop":
      case "cancel":
        return this.#ask(`${verb} of ${taskId}`, controller[verb](taskId, { grace }));
      case "skip":
        return this.#ask(`${verb} of ${taskId}`, controller.skip(taskId, { outcome: 1 }));
      case "reset":
        return this.#ask(`${verb} of ${taskId}`, controller.reset(taskId, { confirm: true }));
      case "pause":
        return this.#ask(`${verb} of ${taskId}`, controller.pause(taskId, { timeout: pick([1, 10, 30_000], this.#random) }));
      case "resume":
      case "retry":
      case "start":
        return this.#ask(`${verb} of ${taskId}`, controller[verb](taskId));
    }
  }

  #askRun(run: RunHandle): void {
    const verb = pick(RUN_VERBS, this.#random);
    const what = `${verb} of run ${run.name}`;
    switch (verb) {
      case "stop":
        return this.#ask(what, run.stop({ grace: 5 }));
      case "cancel":
        return this.#ask(what, run.cancel("enough", { grace: 5 }));
      case "pause":
        return this.#ask(what, run.pause({ timeout: pick([1, 10, 30_000], this.#random) }));
      case "resume":
        return this.#ask(what, run.resume());
      case "retry":
        return this.#ask(what, this.#random() < 0.7 ? run.retry() : run.retry({ from: pick(run.graph(), this.#random).name }));
    }
  }

  #ask(what: string, promise: Promise<unknown>): void {
    const asked: Asked = { what, isSettled: false };
    this.#asked.push(asked);
    promise.then(
      () => {
        asked.isSettled = true;
        this.granted += 1;
      },
      (error: unknown) => {
        asked.isSettled = true;
        if (!(error instanceof TaskError) || error.code === "INTERNAL" || error.code === "STORE") this.wrong.push(`${what}: ${String(error)}`);
      },
    );
  }
}
