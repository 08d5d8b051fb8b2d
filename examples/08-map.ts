import { allSettled, Controller, definePipeline, task } from "../src/index.ts"; // in your project: "chongming-task"

interface Order {
  readonly id: string;
  readonly total: number;
}

const read = task({ name: "read" }, (_ctx, count: number): Order[] =>
  Array.from({ length: count }, (_, index) => ({ id: `order-${index}`, total: index * 10 })),
);

const price = task({ name: "price" }, async (ctx, order: Order): Promise<number> => {
  await ctx.checkpoint();
  if (order.id === "order-3") throw new Error("no price for order-3");
  return order.total * 2;
});

const report = task(
  { name: "report" },
  (_ctx, prices: readonly number[]): string => `${prices.length} prices, ${prices.reduce((sum, each) => sum + each, 0)} in all`,
);

// One task for each order: price[0], price[1], … The value of the map is the list of results, in the order of the items.
const pricing = definePipeline("pricing", { onFailure: allSettled() }, (p, count: number) => {
  const orders = p.add(read, { args: [count] });
  const prices = p.map(price, { deps: [orders], items: (up) => up(orders), maxParallel: 2 });
  p.add(report, { deps: [prices], args: (up) => [up(prices)] });
});

const controller = await Controller.open({ pipelines: [pricing] });

for (const count of [3, 0, 5]) {
  const run = await controller.startRun(pricing, [count]);
  const { status } = await run.wait({ timeout: "10s" });
  const [map] = run.summary().maps;
  console.log(`${count} orders: ${status}; price is ${map?.status}, ${map?.counts.succeeded} of ${map?.total} items succeeded`);
  for (const { name, taskId, status: ended } of run.items("price")) {
    if (ended === "failed") console.log(`  ${name}: ${(await controller.get(taskId)).failure?.message}`);
  }
  const last = run.graph().at(-1);
  if (last?.status === "succeeded") console.log(`  ${String((await controller.get(last.taskId)).outcome)}`);
}

await controller.close();

// Output:
// 3 orders: succeeded; price is succeeded, 3 of 3 items succeeded
//   3 prices, 60 in all
// 0 orders: succeeded; price is succeeded, 0 of 0 items succeeded
//   0 prices, 0 in all
// 5 orders: failed; price is failed, 4 of 5 items succeeded
//   price[3]: no price for order-3
