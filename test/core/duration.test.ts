import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, parseDuration, parsePositiveDuration } from "../../src/core/duration.ts";
import { ConfigurationError } from "../../src/core/errors.ts";

describe("parseDuration", () => {
  it.each([
    [0, 0],
    [1.5, 1.5],
    ["0ms", 0],
    ["500ms", 500],
    ["1.5s", 1_500],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ["1.1h", 3_960_000],
    ["0.1s", 100],
    ["10 s", 10_000],
    ["1.5  m", 90_000],
    ["9007199254740991ms", Number.MAX_SAFE_INTEGER],
  ])("reads %s as %d ms", (value, ms) => {
    expect(parseDuration(value, "x")).toBe(ms);
  });

  it("reads -0 as 0", () => {
    expect(Object.is(parseDuration(-0, "x"), 0)).toBe(true);
  });

  const wrong: readonly unknown[] = [
    NaN,
    Infinity,
    -Infinity,
    -1,
    -0.001,
    2 ** 53,
    Number.MAX_VALUE,
    "",
    " ",
    "10",
    "s",
    "5 parsecs",
    "5parsecs",
    " 10s",
    "10\u00a0s",
    "10\ts",
    "10 ",
    "1 0s",
    "10s ",
    "10s\n",
    "-5s",
    "+5s",
    "1e3s",
    "0x10s",
    "1_000s",
    ".5s",
    "5.s",
    "1.2.3s",
    "1,5s",
    "10S",
    "10sec",
    "1m30s",
    "٣s",
    "NaNs",
    "Infinitys",
    `${"9".repeat(400)}d`,
    "104249991.4d",
    "9007199254740992ms",
    undefined,
    null,
    true,
    10n,
    Symbol("s"),
    [],
    ["10s"],
    {},
    { ms: 1 },
    new Date(0),
    () => 10,
  ];
  it.each(wrong.map((value) => [value]))("refuses %s by the option's name", (value) => {
    expect(() => parseDuration(value, "timeout.idle")).toThrow(ConfigurationError);
    expect(() => parseDuration(value, "timeout.idle")).toThrow(/^timeout\.idle (must be a duration|is too long)/);
  });

  it("says what would be right, and keeps the message short", () => {
    expect(() => parseDuration("10", "grace")).toThrow(
      'grace must be a duration: a number of milliseconds ≥ 0, or text such as "500ms", "30s", "5m", "2h" or "1d"; found "10". Its unit is missing: "10ms" or "10s"?',
    );
    const huge = "x".repeat(1_000_000);
    const message = messageOf(() => parseDuration(huge, "grace"));
    expect(message.length).toBeLessThan(500);
  });

  it("gives a finite number ≥ 0 or a ConfigurationError, for any value", () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.double(), fc.stringMatching(/^[\d.eE+-]{0,8}(ms|s|m|h|d|)$/)), (value) => {
        let answer: unknown;
        try {
          answer = parseDuration(value, "x");
        } catch (error) {
          answer = error;
        }
        const legal = typeof answer === "number" && answer >= 0 && answer <= Number.MAX_SAFE_INTEGER;
        expect(legal || answer instanceof ConfigurationError).toBe(true);
      }),
    );
  });

  it("reads whole amounts exactly", () => {
    fc.assert(
      fc.property(fc.nat(), (amount) => {
        expect(parseDuration(`${amount}s`, "x")).toBe(amount * 1_000);
      }),
    );
  });
});

describe("parsePositiveDuration", () => {
  it("reads what is longer than zero", () => {
    expect(parsePositiveDuration("1ms", "x")).toBe(1);
  });

  it.each([0, "0s", "0.0d"])("refuses %s", (value) => {
    expect(() => parsePositiveDuration(value, "timeout.start")).toThrow(/^timeout\.start must be longer than zero/);
  });
});

describe("formatDuration", () => {
  it.each([
    [0, "0 ms"],
    [0.25, "< 1 ms"],
    [1, "1 ms"],
    [350.4, "350 ms"],
    [999.4, "999 ms"],
    [999.5, "1 s"],
    [1_200, "1.2 s"],
    [12_500, "12.5 s"],
    [59_940, "59.9 s"],
    [59_960, "1 m"],
    [185_000, "3 m 05 s"],
    [300_000, "5 m"],
    [3_599_499, "59 m 59 s"],
    [3_599_500, "1 h"],
    [7_800_000, "2 h 10 m"],
    [7_500_000, "2 h 05 m"],
    [86_369_999, "23 h 59 m"],
    [86_370_000, "1 d"],
    [273_600_000, "3 d 04 h"],
    [-1_200, "-1.2 s"],
    [NaN, "?"],
    [Infinity, "∞"],
  ])("shows %d as %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it("never shows a part that should have been carried over", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), (ms) => {
        expect(formatDuration(ms)).not.toMatch(/^1000 ms|^60 s|^60 m(?!s)|^24 h| 60 [sm]$| 24 h$/);
      }),
    );
  });
});

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  throw new Error("nothing was thrown");
}
