/** Ends a switch over a closed union: a new member that nobody handles does not compile. */
export function unreachable(value: never): never {
  throw new TypeError(`unreachable: ${String(value)}`);
}
