/** For each node, by its number, the numbers of those it depends on: always earlier ones. */
export type DependencyLists = readonly (readonly number[])[];

/** A random graph that is the same each time: up to three upstreams a node, most of them near. */
export function randomGraph(nodes: number, seed = 42): DependencyLists {
  const random = mulberry32(seed);
  return Array.from({ length: nodes }, (_, node) => {
    const wanted = Math.min(node, Math.floor(random() * 4));
    const deps = new Set<number>();
    for (let i = 0; i < wanted; i += 1) deps.add(node - 1 - Math.floor(random() * Math.min(node, 500)));
    return [...deps];
  });
}

/** Each node depends on the one before it. */
export function chain(nodes: number): DependencyLists {
  return Array.from({ length: nodes }, (_, node) => (node === 0 ? [] : [node - 1]));
}

/** A small generator of numbers in [0, 1): good enough for graphs. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
