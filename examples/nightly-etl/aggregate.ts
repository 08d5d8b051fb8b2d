import { task } from "../../src/index.ts";
import { inBatches } from "./in-batches.ts";
import { readStage } from "./staging.ts";
import type { Stage } from "./staging.ts";
import { Tally } from "./tally.ts";
import type { Delays } from "./tally.ts";
import type { Airport, Flight, Trip, Weather } from "./validate.ts";

/** Flights by the hour in which they leave. */
export const delaysByHour = task({ name: "delays-by-hour" }, async (ctx, flights: Stage, paceMs: number) => {
  const tally = new Tally<number>();
  for await (const batch of inBatches(ctx, readStage<Flight>(flights), { total: flights.rows, paceMs })) {
    for (const { hour, delay } of batch) tally.add(hour, delay);
  }
  return tally.rows((hour) => ({ hour })).toSorted((a, b) => a.hour - b.hour);
});

/** Trips × airports: by the state of the airport they leave from. */
export const delaysByState = task({ name: "delays-by-state" }, async (ctx, trips: Stage, airports: Stage, paceMs: number) => {
  const stateOf = new Map<string, string>();
  for await (const { iata, state } of readStage<Airport>(airports)) stateOf.set(iata, state);
  const tally = new Tally<string>();
  for await (const batch of inBatches(ctx, readStage<Trip>(trips), { total: trips.rows, paceMs })) {
    for (const { origin, delay } of batch) tally.add(stateOf.get(origin) ?? "?", delay);
  }
  return tally.rows((state) => ({ state })).toSorted((a, b) => b.flights - a.flights || (a.state < b.state ? -1 : 1));
});

/** A day of the year at Seattle: its flights of 2001, and its usual weather. */
export interface SeattleDay extends Delays {
  readonly day: string;
  /** Means over 2012 to 2015; `null` where no valid day is left. The flights are of 2001, so this is climate, not weather. */
  readonly usualRainMm: number | null;
  readonly usualHighC: number | null;
}

/** Trips × weather: those from or to Seattle by day of the year, beside what the weather usually is on that day. */
export const seattleByDay = task({ name: "seattle-by-day" }, async (ctx, trips: Stage, weather: Stage, paceMs: number): Promise<SeattleDay[]> => {
  const usual = new Map<string, { years: number; rainMm: number; highC: number }>();
  for await (const { day, rainMm, highC } of readStage<Weather>(weather)) {
    const sum = usual.get(day) ?? { years: 0, rainMm: 0, highC: 0 };
    usual.set(day, { years: sum.years + 1, rainMm: sum.rainMm + rainMm, highC: sum.highC + highC });
  }
  const tally = new Tally<string>();
  for await (const batch of inBatches(ctx, readStage<Trip>(trips), { total: trips.rows, paceMs })) {
    for (const { origin, destination, day, delay } of batch) if (origin === "SEA" || destination === "SEA") tally.add(day, delay);
  }
  const days = tally.rows((day) => {
    const sum = usual.get(day);
    return { day, usualRainMm: sum === undefined ? null : sum.rainMm / sum.years, usualHighC: sum === undefined ? null : sum.highC / sum.years };
  });
  return days.toSorted((a, b) => (a.day < b.day ? -1 : 1));
});
