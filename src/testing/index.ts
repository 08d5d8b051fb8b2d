export { FakeClock } from "./fake-clock.ts";
export type { FakeClockOptions } from "./fake-clock.ts";
