import { randomFillSync } from "node:crypto";

const POOL_BYTES = 4_096;

const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** Cryptographic randomness, fetched in larger pieces: an id needs few bytes, and each fetch costs a system call. */
export function randomBytes(count: number): Uint8Array {
  if (used + count > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = pool.slice(used, used + count);
  used += count;
  return bytes;
}
