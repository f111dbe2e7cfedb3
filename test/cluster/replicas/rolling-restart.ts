import type { Installation } from './installation.ts';

export interface Restart {
  replica: string;
  code: number | null;
  /** From SIGTERM to the end of the process. */
  stopMs: number;
  /** From the start of the next process until it gets work. */
  startMs: number;
}

/** One replica after the other ends by SIGTERM, and a new one takes its place before the next goes. */
export async function rollingRestart(installation: Installation, report: (restart: Restart) => void = () => undefined): Promise<void> {
  for (const replica of [...installation.replicas]) {
    const begun = performance.now();
    const code = await installation.stopReplica(replica);
    const stopped = performance.now();
    await installation.startReplica();
    report({
      replica: replica.name,
      code,
      stopMs: Math.round(stopped - begun),
      startMs: Math.round(performance.now() - stopped),
    });
  }
}
