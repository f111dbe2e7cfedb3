import { AsyncLocalStorage } from 'node:async_hooks';

/** Flow of a request: its client network, and the person once the credential is known. */
export interface RequestFlow {
  key: string;
  isPerson?: true;
}

/** Makes a request one of a person. */
export function joinPerson(flow: RequestFlow, key: string): void {
  flow.key = key;
  flow.isPerson = true;
}

const current = new AsyncLocalStorage<RequestFlow>();

/** Runs the work of a request as part of its flow. */
export const runInFlow = <T>(flow: RequestFlow, work: () => T): T => current.run(flow, work);

/** Runs work for several requests, so that it does not wait for the places of one of them. */
export const runOutsideFlows = <T>(work: () => T): T => current.exit(work);

/** Returns the key of the current flow, undefined for work of the service itself. */
export const currentFlow = (): string | undefined => current.getStore()?.key;
