import type { Build, Installation } from './installation.ts';

export interface Restart {
  replica: string;
  code: number | null;
  /** Milliseconds from SIGTERM to the end of the process. */
  stopMs: number;
  /** Milliseconds from the start of the next process to its first requests. */
  startMs: number;
}

/**
 * Replaces one replica after the other: ends it by SIGTERM, and starts a new one before the next ends.
 *
 * @param build another build, for an upgrade or a rollback
 */
export async function rollingRestart(
  installation: Installation,
  report: (restart: Restart) => void = () => undefined,
  build?: Build,
): Promise<void> {
  for (const replica of [...installation.replicas]) {
    const begun = performance.now();
    const code = await installation.stopReplica(replica);
    const stopped = performance.now();
    await installation.startReplica(build);
    report({
      replica: replica.name,
      code,
      stopMs: Math.round(stopped - begun),
      startMs: Math.round(performance.now() - stopped),
    });
  }
}
