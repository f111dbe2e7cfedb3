import { after } from 'mocha';
import { startCluster, type WholeCluster } from './cluster.ts';

let started: Promise<WholeCluster> | undefined;

/** Returns the cluster that all files of a run share. Each file must restore its state. */
export function sharedCluster(): Promise<WholeCluster> {
  started ??= startCluster();
  return started;
}

after(async () => (await started)?.stop());
