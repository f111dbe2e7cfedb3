const endingSignals = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;
type EndingSignal = (typeof endingSignals)[number];

/** The members of `process` that this module needs. */
export interface SignalledProcess {
  on(signal: EndingSignal, listener: () => void): unknown;
  exit(code: number): unknown;
}

/** Milliseconds in which a second SIGINT belongs to the same key press: npm passes on the SIGINT that the terminal sent to both. */
const keyPressMs = 250;

/**
 * Stops in order on the first signal, and then exits with 0, or with 1 if the stop fails. Further SIGTERM or SIGHUP have no effect, because
 * supervisors send several. SIGINT during the stop exits at once.
 *
 * @param clock monotonic clock, in milliseconds
 */
export function stopOnSignals(
  host: SignalledProcess,
  stop: (options: { drain: boolean }) => Promise<void>,
  clock: () => number = () => performance.now(),
): void {
  let begun: { by: EndingSignal; at: number } | undefined;
  for (const signal of endingSignals)
    host.on(signal, () => {
      if (begun === undefined) {
        begun = { by: signal, at: clock() };
        // After a supervisor's signal, clients that do not know of it yet still send requests.
        stop({ drain: signal !== 'SIGINT' }).then(
          () => host.exit(0),
          () => host.exit(1),
        );
        return;
      }
      const isSameKeyPress = begun.by === 'SIGINT' && clock() - begun.at < keyPressMs;
      if (signal === 'SIGINT' && !isSameKeyPress) host.exit(1);
    });
}
