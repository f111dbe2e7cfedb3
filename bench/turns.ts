/** Processor time of the turns of the event loop. */
export class Turns {
  longestMs = 0;
  #next: NodeJS.Immediate | undefined;
  #before = process.threadCpuUsage();

  begin(): void {
    this.#before = process.threadCpuUsage();
    this.#next = setImmediate(() => this.#turn());
  }

  end(): void {
    clearImmediate(this.#next);
  }

  #turn(): void {
    const { user, system } = process.threadCpuUsage(this.#before);
    this.longestMs = Math.max(this.longestMs, (user + system) / 1000);
    this.begin();
  }
}
