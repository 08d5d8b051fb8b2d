import { setTimeout as sleep } from "node:timers/promises";

const LOOK_EVERY_MS = 5;

/** Looks until the answer is there; after `ms` it throws with what it saw last. */
export async function eventually<Answer>(what: string, look: () => Answer | undefined | Promise<Answer | undefined>, ms = 10_000): Promise<Answer> {
  const until = performance.now() + ms;
  for (;;) {
    const answer = await look();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > until) throw new Error(`not within ${ms} ms: ${what}`);
    await sleep(LOOK_EVERY_MS);
  }
}

/** The promise's value, or an error that names what did not come in time. */
export async function within<Value>(ms: number, what: string, promise: Promise<Value>): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
