/** The state of a Lease at a time. Kubernetes API: coordination.k8s.io/v1. */

import type { ClusterObject } from '../../../../api/object-types.ts';

export interface LeaseState {
  state: 'held' | 'expired' | 'free' | 'unknown';
  holder: string;
  seconds?: number;
  acquired?: string;
  renewed?: string;
  transitions?: number;
}

/** A holder that has not renewed within the duration has lost the Lease. */
export function leaseState({ spec = {} }: ClusterObject, now: number): LeaseState {
  const { holderIdentity, leaseDurationSeconds: seconds, acquireTime, renewTime, leaseTransitions: transitions } = spec;
  const holder = typeof holderIdentity === 'string' ? holderIdentity : '';
  const end = Date.parse(String(renewTime ?? acquireTime)) + Number(seconds) * 1000;
  const held = Number.isNaN(end) ? 'unknown' : end < now ? 'expired' : 'held';
  return {
    ...{ state: holder === '' ? 'free' : held, holder },
    ...(typeof seconds === 'number' && { seconds }),
    ...(typeof acquireTime === 'string' && { acquired: acquireTime }),
    ...(typeof renewTime === 'string' && { renewed: renewTime }),
    ...(typeof transitions === 'number' && { transitions }),
  };
}
