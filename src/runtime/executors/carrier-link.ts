import type { CarrierExit, FromCarrier, ToCarrier } from "./protocol.ts";

/** Who listens to a carrier. */
export interface CarrierListener {
  message(message: FromCarrier): void;
  /** It is gone, and nothing it said before is still on its way. Called once. */
  exited(exit: CarrierExit): void;
}

/** The supervisor's end of one carrier: a thread, a child process. */
export interface CarrierLink {
  readonly pid: number | null;
  /** Is the carrier itself still there? Asks the carrier, never the pipe. Source §13.10. */
  readonly alive: boolean;
  /** Who is told from now on; `null`: nobody, it is idle. */
  listener: CarrierListener | null;
  post(message: ToCarrier): void;
  /** Where the line can carry less than the structured clone: what it can. */
  copies?(value: unknown): boolean;
  /** Before the last resort, where there is such a thing (SIGTERM). */
  warn?(): void;
  /** The last resort: ends it for certain, with its descendants where the platform can. */
  kill(): void;
}
