import { join } from "node:path";
import { z } from "zod";
import { definePipeline, failFast } from "../src/index.ts";
import { delaysByHour, delaysByState, seattleByDay } from "./nightly-etl/aggregate.ts";
import { extractCsv, extractJson } from "./nightly-etl/extract.ts";
import { load, openWarehouse } from "./nightly-etl/load.ts";
import { alarm, rejectShare, report } from "./nightly-etl/report.ts";
import { SOURCES } from "./nightly-etl/source-data.ts";
import { validateAirports, validateFlights, validateTrips, validateWeather } from "./nightly-etl/validate.ts";

// `npm run demo`: real work on real data. Files flow between the steps, not rows; what is handed on is where the
// file is and how many rows it has.

const options = z.object({
  /** The folder for the result, the report and the files in between. */
  out: z.string().min(1).default(join(".chongming", "demo")),
  /** Milliseconds of rest after each hundredth of a step's rows, so that a person can watch; 0: full speed. */
  pace: z.coerce.number().int().min(0).max(1000).default(20),
  /** The alarm runs where more than this share of the rows of a source was rejected. */
  alarmAbove: z.coerce.number().min(0).max(1).default(0.05),
});

/** Flights, airports and weather into `result.json` and `report.txt`. */
export const nightlyEtl = definePipeline("nightly-etl", { onFailure: failFast(), input: z.tuple([options.prefault({})]) }, (p, settings) => {
  const { out, pace: paceMs, alarmAbove } = settings;
  const work = (name: string): string => join(out, "work", name);
  const extracted = (name: string): { to: string; paceMs: number } => ({ to: work(`${name}.raw.ndjson`), paceMs });
  const valid = (name: string): { to: string; paceMs: number } => ({ to: work(`${name}.ndjson`), paceMs });

  const warehouse = p.add(openWarehouse, { args: [out] });
  const rawFlights = p.add(extractJson, { name: "extract-flights", args: [{ from: SOURCES.flights, ...extracted("flights") }] });
  const rawTrips = p.add(extractJson, { name: "extract-trips", args: [{ from: SOURCES.trips, ...extracted("trips") }] });
  const rawAirports = p.add(extractCsv, { name: "extract-airports", args: [{ from: SOURCES.airports, ...extracted("airports") }] });
  const rawWeather = p.add(extractCsv, { name: "extract-weather", args: [{ from: SOURCES.weather, ...extracted("weather") }] });

  const flights = p.add(validateFlights, { deps: [rawFlights], args: (up) => [{ from: up(rawFlights), ...valid("flights") }] });
  const airports = p.add(validateAirports, { deps: [rawAirports], args: (up) => [{ from: up(rawAirports), ...valid("airports") }] });
  const weather = p.add(validateWeather, { deps: [rawWeather], args: (up) => [{ from: up(rawWeather), ...valid("weather") }] });
  const trips = p.add(validateTrips, {
    deps: [rawTrips, airports],
    args: (up) => [{ from: up(rawTrips), ...valid("trips") }, up(airports)],
  });

  const byHour = p.add(delaysByHour, { deps: [flights], args: (up) => [up(flights), paceMs] });
  const byState = p.add(delaysByState, { deps: [trips, airports], args: (up) => [up(trips), up(airports), paceMs] });
  const byDay = p.add(seattleByDay, { deps: [trips, weather], args: (up) => [up(trips), up(weather), paceMs] });

  const alarmed = p.add(alarm, {
    deps: [flights, trips, airports, weather],
    when: (up) => [up(flights), up(trips), up(airports), up(weather)].some((source) => rejectShare(source) > alarmAbove),
    args: (up) => [
      { flights: rejectShare(up(flights)), trips: rejectShare(up(trips)), airports: rejectShare(up(airports)), weather: rejectShare(up(weather)) },
    ],
  });
  const loaded = p.add(load, {
    deps: [warehouse, flights, trips, airports, weather, byHour, byState, byDay],
    args: (up) => [
      up(warehouse),
      {
        sources: { flights: up(flights), trips: up(trips), airports: up(airports), weather: up(weather) },
        byHour: up(byHour),
        byState: up(byState),
        seattleByDay: up(byDay),
      },
      paceMs,
    ],
  });
  // The report does not mind that the alarm was skipped; it does mind a failure.
  p.add(report, { deps: [loaded, alarmed], join: "none_failed", args: [join(out, "result.json")] });
});
