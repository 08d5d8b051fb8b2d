import { allSettled, Controller, definePipeline, task } from "../src/index.ts"; // in your project: "chongming-task"

interface Stock {
  readonly shop: string;
  readonly items: number;
}

const count = task({ name: "count" }, (_ctx, shop: string): Stock => {
  if (shop === "closed") throw new Error("the shop is closed");
  return { shop, items: shop.length * 10 };
});
const total = task({ name: "total" }, (_ctx, ...stocks: readonly (Stock | undefined)[]): number => stocks.reduce((sum, stock) => sum + (stock?.items ?? 0), 0));
const order = task({ name: "order" }, (_ctx, missing: number): string => `ordered ${missing}`);
const note = task({ name: "note" }, (): string => "noted");

// Nodes are typed: `up(north)` is a Stock, and `up` of a node that is not in `deps` does not compile.
const inventory = definePipeline("inventory", { onFailure: allSettled() }, (p, other: string) => {
  const north = p.add(count, { name: "north", args: ["north"] });
  const second = p.add(count, { name: "second", args: [other] });
  // any join but the default promises less, so a value may be missing: Stock | undefined
  const sum = p.add(total, { deps: [north, second], join: "all_done", args: (up) => [up(north), up(second)] });
  const ordered = p.add(order, { deps: [sum], when: (up) => up(sum) < 100, args: (up) => [100 - up(sum)] });
  p.add(note, { deps: [ordered], join: "none_failed" });
});

const controller = await Controller.open({ pipelines: [inventory] });

for (const other of ["southern", "closed"]) {
  const run = await controller.startRun(inventory, [other]);
  const { status } = await run.wait({ timeout: "10s" });
  console.log(
    `north and ${other}: ${status}; ${run
      .graph()
      .map((node) => `${node.name} ${node.status}`)
      .join(", ")}`,
  );
  const { firstFailure } = run.summary();
  if (firstFailure !== null) console.log(`  ${firstFailure.node}: ${firstFailure.failure?.message}`);
}

await controller.close();

// Output:
// north and southern: succeeded; north succeeded, second succeeded, total succeeded, order skipped, note succeeded
// north and closed: failed; north succeeded, second failed, total succeeded, order succeeded, note succeeded
//   second: the shop is closed
