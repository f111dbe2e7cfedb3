import type { Services } from '../services.ts';
import type { UserBindingRow } from './row.ts';

/** State of the binding's period at this time. */
export type TermState = 'NotYetValid' | 'InEffect' | 'Expired';

/** Returns whether the binding gives its role now, and when that changes. */
export function termOf({ notBefore = 0, expiresAt }: UserBindingRow, { now }: Services): { state: TermState; changesAt?: number } {
  const time = now().getTime();
  if (expiresAt !== undefined && expiresAt <= time) return { state: 'Expired' };
  const isEarly = notBefore > time;
  const next = isEarly ? Math.min(notBefore, expiresAt ?? notBefore) : expiresAt;
  const state = isEarly ? 'NotYetValid' : 'InEffect';
  return next !== undefined && Number.isFinite(next) ? { state, changesAt: next } : { state };
}
