import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const data = join(dirname(createRequire(import.meta.url).resolve("vega-datasets")), "../data");

/** The raw files, as the npm package `vega-datasets` ships them. */
export const SOURCES = {
  /** 200,000 flights inside the USA: delay in minutes, distance in miles, departure as an hour of the day (`17.5`). */
  flights: join(data, "flights-200k.json"),
  /** 20,000 flights of early 2001 with date, origin and destination: the ones that can be joined. */
  trips: join(data, "flights-20k.json"),
  /** 3,376 airports; some names are quoted and hold commas and quotes. */
  airports: join(data, "airports.csv"),
  /** A day of Seattle's weather a row, 2012 to 2015. */
  weather: join(data, "seattle-weather.csv"),
} as const;
