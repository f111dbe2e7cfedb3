const endingSignals = ['SIGTERM', 'SIGHUP', 'SIGINT'] as const;
type EndingSignal = (typeof endingSignals)[number];

/** What is needed of the process. */
export interface SignalledProcess {
  on(signal: EndingSignal, listener: () => void): unknown;
  exit(code: number): unknown;
}

/** npm passes on the SIGINT that the terminal has sent to both: two of one key press. */
const keyPressMs = 250;

/**
 * Stops in order on the first signal, and then exits with 0. More of SIGTERM or SIGHUP change nothing, because supervisors send several;
 * SIGINT while it is stopping exits at once.
 *
 * @param clock milliseconds that only ever grow
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
        // Only a supervisor's signal is followed by requests from clients that have not heard of it yet.
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
