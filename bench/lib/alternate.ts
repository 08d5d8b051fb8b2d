import { collectGarbage } from "./collect-garbage.ts";

/** One of those that are compared. */
export interface Contender<Name extends string = string> {
  readonly name: Name;
  /** Does the work once and answers with its figure; what is set up and taken down it leaves out itself. */
  readonly measure: () => Promise<number> | number;
}

/**
 * Measures all contenders in turn, round after round: A B C, then B C A, so that a machine that slows down
 * slows all of them down, and nobody is always the first. The warm-up rounds count for nothing.
 * @returns the figures of each, by round
 */
export async function alternate<const Name extends string>(
  contenders: readonly Contender<Name>[],
  { rounds, warmups = 1 }: { readonly rounds: number; readonly warmups?: number },
): Promise<Readonly<Record<Name, readonly number[]>>> {
  const figures = Object.fromEntries(contenders.map(({ name }) => [name, []])) as unknown as Record<Name, number[]>;
  for (let round = -warmups; round < rounds; round += 1) {
    for (const index of contenders.keys()) {
      const contender = contenders[(index + round + warmups) % contenders.length];
      if (contender === undefined) continue;
      collectGarbage();
      const figure = await contender.measure();
      if (round >= 0) figures[contender.name].push(figure);
    }
  }
  return figures;
}
