export { contractBodies } from "./executor-bodies.ts";
export type { ContractBodyName } from "./executor-bodies.ts";
export { executorContract } from "./executor-contract.ts";
export type { ContractCase, ExecutorContractOptions, ExecutorUnderTest } from "./executor-contract.ts";
export { ContractViolation } from "./executor-trial.ts";
export { FakeClock } from "./fake-clock.ts";
export type { FakeClockOptions } from "./fake-clock.ts";
export { dyingExecutor, FakeExecutor, FakeLaunch, hangingExecutor, silentExecutor, throwingExecutor } from "./fake-executors.ts";
export type { FakeExecutorOptions } from "./fake-executors.ts";
