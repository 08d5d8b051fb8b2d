/** How far the process has come: what a signal or an exception out of turn leads to depends on it. */
export class Stage {
  #isRunning = false;
  #isOver = false;
  #exitCode: number | null = null;
  #runsTaskCode = (): boolean => false;

  /** Nothing runs yet. */
  get isStarting(): boolean {
    return !this.#isRunning && this.#exitCode === null;
  }

  /** What ran has ended: nothing can change its verdict any more. */
  get isOver(): boolean {
    return this.#isOver || this.#exitCode !== null;
  }

  /** As soon as it is known. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  /** Does the code on the stack belong to a task? What it leaves behind is on the record of that task. */
  get isTasks(): boolean {
    return this.#runsTaskCode();
  }

  /** A session has taken over. */
  begin(runsTaskCode: () => boolean): void {
    this.#isRunning = true;
    this.#runsTaskCode = runsTaskCode;
  }

  /** What ran has ended, and is still to be told. */
  end(): void {
    this.#isOver = true;
  }

  /** It has been told, or there is nothing to tell. */
  settle(exitCode: number): void {
    this.#exitCode = exitCode;
  }
}
