/** How long it takes, milliseconds. */
export async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
