import type { Executor, ExecutorSupports } from "../core/ports/executor.ts";
import { ENDS } from "./executor-ends.ts";
import { PAUSES } from "./executor-pauses.ts";
import { REPORTING } from "./executor-reporting.ts";
import { STOPS } from "./executor-stops.ts";
import { ExecutorTrial, same } from "./executor-trial.ts";
import type { CaseDraft } from "./executor-trial.ts";

/** An executor that is to be tried, and how the tasks of the contract are found there. */
export interface ExecutorUnderTest {
  /** Fresh for each case, and on the machine's own time; the contract closes it. */
  readonly executor: Executor;
  /** The URL of the module that exports `contractBodies` as tasks by their names; left out: it takes closures. */
  readonly module?: string;
}

/** What `executorContract` needs to know. */
export interface ExecutorContractOptions {
  /** Makes an executor; called for each case. */
  readonly make: () => ExecutorUnderTest | Promise<ExecutorUnderTest>;
  /** The facts that the executor states, so that cases can be left out with a reason before anything is made. */
  readonly supports: ExecutorSupports;
  /** How long anything that must happen is waited for, milliseconds; default 10,000. It must cover a launch and a beat. */
  readonly patienceMs?: number;
}

/** One case of a contract. Binds no test runner: register `run` under `name` with yours, and `skip` with its reason. */
export interface ContractCase {
  /** The fact that must hold. */
  readonly name: string;
  /** Why the case does not apply to this executor; `null`: it does. */
  readonly skip: string | null;
  /** Rejects when the executor breaks the contract (`ContractViolation`), or breaks down. */
  readonly run: () => Promise<void>;
}

const DEFAULT_PATIENCE_MS = 10_000;

const FACTS: CaseDraft = {
  name: "states the facts that it is tried by",
  run: async ({ executor }) => {
    same(typeof executor.kind === "string" && executor.kind !== "", true, "a kind that is a non-empty text");
    await Promise.resolve();
  },
};

/**
 * The contract that every executor keeps, ours and yours, as cases for any test runner: launches, ends, the three
 * steps of a stop, pauses, reports, and what is refused. What an executor cannot do it says in `supports`, and the
 * cases about it are skipped with the reason. Source §5.4, §13.4.
 *
 * ```ts
 * for (const { name, skip, run } of executorContract({ make, supports })) test.skipIf(skip !== null)(name, run);
 * ```
 */
export function executorContract({ make, supports, patienceMs = DEFAULT_PATIENCE_MS }: ExecutorContractOptions): readonly ContractCase[] {
  return [FACTS, ...ENDS, ...STOPS, ...PAUSES, ...REPORTING].map(({ name, skip, run }) => ({
    name,
    skip: skip?.(supports) ?? null,
    run: async () => {
      const { executor, module = null } = await make();
      const trial = new ExecutorTrial({ executor, module, patienceMs });
      await endAfter(trial, async () => {
        same(executor.supports, supports, "supports");
        await run(trial);
      });
    },
  }));
}

/** What the case found counts more than what came of clearing up behind it. */
async function endAfter(trial: ExecutorTrial, run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    await trial.end().catch(() => {});
    throw error;
  }
  await trial.end();
}
