import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

// The numbers of the demo worked out in another way: SQL over the raw files. Nothing is shared with the pipeline.
const data = join(dirname(createRequire(import.meta.url).resolve("vega-datasets")), "../data");

const TABLES = `
  CREATE TABLE flights AS SELECT value ->> 'delay' AS delay, CAST(value ->> 'time' AS INTEGER) AS hour FROM json_each(:flights);
  CREATE TABLE trips AS SELECT value ->> 'date' AS date, value ->> 'delay' AS delay, value ->> 'origin' AS origin,
    value ->> 'destination' AS destination FROM json_each(:trips);
  CREATE TABLE airports AS SELECT value ->> 0 AS iata, value ->> 1 AS state FROM json_each(:airports);
  CREATE TABLE weather AS SELECT value ->> 0 AS date, CAST(value ->> 1 AS REAL) AS rain, CAST(value ->> 2 AS REAL) AS high,
    CAST(value ->> 3 AS REAL) AS low, value ->> 5 AS sky FROM json_each(:weather);
`;

const VIEWS = `
  CREATE VIEW good_flights AS SELECT * FROM flights WHERE delay BETWEEN -60 AND 720;
  CREATE VIEW good_airports AS SELECT * FROM airports WHERE state <> 'NA';
  CREATE TABLE good_trips AS SELECT trips.*, a.state AS state, replace(substr(date, 6, 5), '/', '-') AS day FROM trips
    JOIN good_airports a ON a.iata = origin JOIN good_airports b ON b.iata = destination;
  CREATE TABLE usual AS SELECT substr(date, 6) AS day, avg(rain) AS rain, avg(high) AS high FROM weather
    WHERE NOT (sky = 'rain' AND rain = 0) AND NOT (sky = 'snow' AND low > 4) GROUP BY 1;
`;

const DELAYS = "count(*) AS flights, avg(delay) AS meanDelayMin, avg(delay > 15) AS lateShare";

const QUERIES = {
  byHour: `SELECT hour, ${DELAYS} FROM good_flights GROUP BY hour ORDER BY hour`,
  byState: `SELECT state, ${DELAYS} FROM good_trips GROUP BY state ORDER BY flights DESC, state`,
  seattleByDay: `SELECT t.day AS day, ${DELAYS}, max(u.rain) AS usualRainMm, max(u.high) AS usualHighC FROM good_trips t
    LEFT JOIN usual u ON u.day = t.day WHERE 'SEA' IN (origin, destination) GROUP BY t.day ORDER BY t.day`,
  sources: `SELECT
    (SELECT count(*) FROM flights) AS flights, (SELECT count(*) FROM trips) AS trips,
    (SELECT count(*) FROM airports) AS airports, (SELECT count(*) FROM weather) AS weather,
    (SELECT count(*) FROM flights WHERE delay < -60) AS early, (SELECT count(*) FROM flights WHERE delay > 720) AS late,
    (SELECT count(*) FROM trips) - (SELECT count(*) FROM good_trips) AS unknownAirport,
    (SELECT count(*) FROM airports WHERE state = 'NA') AS noState,
    (SELECT count(*) FROM weather WHERE sky = 'rain' AND rain = 0) AS dryRain,
    (SELECT count(*) FROM weather WHERE sky = 'snow' AND low > 4) AS warmSnow`,
} as const;

/** Each table of the result, as SQL has it. */
export function expectedResult(): Readonly<Record<keyof typeof QUERIES, readonly Readonly<Record<string, unknown>>[]>> {
  const db = new DatabaseSync(":memory:");
  try {
    fillTables(db);
    db.exec(VIEWS);
    const rows = (query: keyof typeof QUERIES): Record<string, unknown>[] =>
      db
        .prepare(QUERIES[query])
        .all()
        .map((row) => ({ ...row }));
    return { byHour: rows("byHour"), byState: rows("byState"), seattleByDay: rows("seattleByDay"), sources: rows("sources") };
  } finally {
    db.close();
  }
}

function fillTables(db: DatabaseSync): void {
  const files: Readonly<Record<string, string>> = {
    flights: readFileSync(join(data, "flights-200k.json"), "utf8"),
    trips: readFileSync(join(data, "flights-20k.json"), "utf8"),
    // The quoted field is the second one: from both ends it is not in the way.
    airports: JSON.stringify(lines("airports.csv").map((line) => [line.split(",")[0], line.split(",").at(-4)])),
    weather: JSON.stringify(lines("seattle-weather.csv").map((line) => line.split(","))),
  };
  for (const statement of TABLES.split(";").filter((text) => text.trim() !== "")) {
    const [, name = ""] = /CREATE TABLE (\w+)/.exec(statement) ?? [];
    // Parameters are not allowed in CREATE TABLE … AS: the text goes through a table of its own.
    db.exec("DROP TABLE IF EXISTS raw; CREATE TABLE raw (text TEXT)");
    db.prepare("INSERT INTO raw VALUES (?)").run(files[name] ?? "");
    db.exec(statement.replace(`:${name}`, "(SELECT text FROM raw)"));
  }
}

function lines(name: string): readonly string[] {
  return readFileSync(join(data, name), "utf8").trimEnd().split("\n").slice(1);
}
