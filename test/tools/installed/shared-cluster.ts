import { after } from 'mocha';
import { startCluster, type WholeCluster } from './cluster.ts';

let started: Promise<WholeCluster> | undefined;

/** One for all files of a run, and gone with it: each file leaves it as it found it. */
export function sharedCluster(): Promise<WholeCluster> {
  started ??= startCluster();
  return started;
}

after(async () => (await started)?.stop());
