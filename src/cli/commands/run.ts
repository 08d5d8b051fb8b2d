import { Controller } from "../../api/controller.ts";
import { parseDuration } from "../../core/duration.ts";
import { DEFAULTS } from "../../core/policies/timeout.ts";
import { findTarget, loadCatalogue } from "../catalogue.ts";
import { startJob } from "../job.ts";
import { libraryLogger } from "../library-logger.ts";
import { readArguments, readInteger } from "../run-arguments.ts";
import type { ArgumentFlags } from "../run-arguments.ts";
import { Session } from "../session.ts";
import { refuseFormat } from "../settings.ts";
import type { Settings } from "../settings.ts";

/** The options of `run`, as the parser gives them. */
export interface RunFlags extends ArgumentFlags {
  readonly priority?: string;
  readonly maxParallel?: string;
  readonly grace?: string;
}

/** Runs a task or a pipeline in the foreground and shows it. The exit code is that of what is stored in the end. */
export async function run(settings: Settings, name: string, flags: RunFlags): Promise<number> {
  refuseFormat(settings.format, ["table", "wide", "json", "jsonl"], "run");
  const args = readArguments(flags);
  const priority = readInteger(flags.priority, "--priority", Number.MIN_SAFE_INTEGER);
  const maxParallel = readInteger(flags.maxParallel, "--max-parallel", 1);
  const graceMs = flags.grace === undefined ? DEFAULTS.stopGraceMs : parseDuration(flags.grace, "--grace");
  const catalogue = await loadCatalogue(settings);
  const target = findTarget(catalogue, name);
  const logger = libraryLogger();
  const controller = await Controller.open({
    ...catalogue,
    logger,
    // While the loop is blocked nothing of ours can speak: the watcher writes to stderr itself.
    watchLoop: { announce: !settings.quiet },
    ...(maxParallel === undefined ? {} : { concurrency: { maxParallel } }),
  });
  try {
    const session = await Session.open({ settings, name, graceMs });
    try {
      logger.listen((text) => session.note(text));
      // Listened to before anything starts; however slow the reader of the output, no event is dropped.
      const events = controller.events({ limit: Number.MAX_SAFE_INTEGER });
      const job = await startJob(controller, { target, args, priority });
      return await session.follow(job, events);
    } finally {
      session.close();
    }
  } finally {
    await controller.close({ grace: 0 });
  }
}
