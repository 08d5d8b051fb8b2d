/** Where the library itself says what went wrong beside a task. Default: quiet. */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** Says nothing. */
export const quietLogger: Logger = Object.freeze({
  debug() {},
  info() {},
  warn() {},
  error() {},
});
