import { task } from "../../src/index.ts";
import type { TaskContext } from "../../src/index.ts";
import { inBatches } from "./in-batches.ts";
import { readStage, toLines, writeAtomically } from "./staging.ts";
import type { Stage } from "./staging.ts";

/** A row as the source has it: nothing is known of it yet. */
type Raw = Readonly<Record<string, unknown>>;

export interface Flight {
  /** 0 to 23. */
  readonly hour: number;
  readonly delay: number;
}

export interface Trip {
  /** Month and day, `MM-DD`. */
  readonly day: string;
  readonly delay: number;
  readonly origin: string;
  readonly destination: string;
}

export interface Airport {
  readonly iata: string;
  readonly state: string;
}

export interface Weather {
  /** Month and day, `MM-DD`. */
  readonly day: string;
  readonly rainMm: number;
  readonly highC: number;
}

/** A stage of rows that keep the rules, and how many of the others broke which rule. */
export interface Sifted extends Stage {
  readonly read: number;
  readonly rejected: Readonly<Record<string, number>>;
}

/** What a validating step is told: the staged rows, where to write, how fast. */
export interface Sift {
  readonly from: Stage;
  readonly to: string;
  readonly paceMs: number;
}

type Checked<Row> = { readonly row: Row } | { readonly rejected: string };

export const validateFlights = task({ name: "validate-flights" }, async (ctx, job: Sift) => await sift(ctx, job, checkFlight));

export const validateAirports = task({ name: "validate-airports" }, async (ctx, job: Sift) => await sift(ctx, job, checkAirport));

export const validateWeather = task({ name: "validate-weather" }, async (ctx, job: Sift) => await sift(ctx, job, checkWeather));

/** Looks each trip's two airports up among those that kept the rules. */
export const validateTrips = task({ name: "validate-trips" }, async (ctx, job: Sift, airports: Stage) => {
  const known = new Set<string>();
  for await (const { iata } of readStage<Airport>(airports)) known.add(iata);
  return await sift(ctx, job, (raw) => checkTrip(raw, known));
});

function checkFlight({ delay, time }: Raw): Checked<Flight> {
  if (typeof delay !== "number" || typeof time !== "number" || time < 0 || time >= 24) return { rejected: "malformed" };
  // Minutes of delay: the clock of the one was wrong, the other is another day's flight.
  if (delay < -60) return { rejected: "more than an hour early" };
  if (delay > 12 * 60) return { rejected: "more than twelve hours late" };
  return { row: { hour: Math.floor(time), delay } };
}

function checkTrip({ date, delay, origin, destination }: Raw, known: ReadonlySet<string>): Checked<Trip> {
  if (typeof date !== "string" || typeof delay !== "number" || typeof origin !== "string" || typeof destination !== "string") return { rejected: "malformed" };
  if (!known.has(origin) || !known.has(destination)) return { rejected: "unknown airport" };
  return { row: { day: date.slice(5, 10).replace("/", "-"), delay, origin, destination } };
}

function checkAirport({ iata, state }: Raw): Checked<Airport> {
  if (typeof iata !== "string" || typeof state !== "string" || iata === "") return { rejected: "malformed" };
  if (state === "NA" || state === "") return { rejected: "no state" };
  return { row: { iata, state } };
}

function checkWeather({ date, precipitation, temp_max, temp_min, weather }: Raw): Checked<Weather> {
  const [rainMm, highC, lowC] = [Number(precipitation), Number(temp_max), Number(temp_min)];
  if (typeof date !== "string" || [rainMm, highC, lowC].some(Number.isNaN)) return { rejected: "malformed" };
  if (weather === "rain" && rainMm === 0) return { rejected: "rain of 0 mm" };
  if (weather === "snow" && lowC > 4) return { rejected: "snow above 4 °C" };
  return { row: { day: date.slice(5), rainMm, highC } };
}

async function sift<Row>(ctx: TaskContext, { from, to, paceMs }: Sift, check: (raw: Raw) => Checked<Row>): Promise<Sifted> {
  const rejected: Record<string, number> = {};
  let rows = 0;
  await writeAtomically(ctx, to, async (write) => {
    for await (const batch of inBatches(ctx, readStage<Raw>(from), { total: from.rows, paceMs })) {
      const kept: Row[] = [];
      for (const raw of batch) {
        const checked = check(raw);
        if ("row" in checked) kept.push(checked.row);
        else rejected[checked.rejected] = (rejected[checked.rejected] ?? 0) + 1;
      }
      rows += kept.length;
      await write(toLines(kept));
    }
  });
  for (const [rule, count] of Object.entries(rejected)) ctx.log.warn(`${count} of ${from.rows} rows rejected: ${rule}`);
  return { path: to, rows, read: from.rows, rejected };
}
