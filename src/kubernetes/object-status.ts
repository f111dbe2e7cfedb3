import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { conditions } from '../api/object-schemas.ts';
import { partsOf, reader } from '../api/reader.ts';
import { timestamp } from './timestamp.ts';

/** @see https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#condition-v1-meta */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

const readConditions = reader(z.object({ conditions }));

/** A condition as it is found; since when it is so is added where it is written. */
export type Observed = Omit<Condition, 'lastTransitionTime'>;

/**
 * Conditions as they are to be written: one whose status stays keeps the time since when it is so.
 *
 * @param status of the object as it was read
 */
export function setConditions(status: unknown, observed: readonly Observed[], now: Date): Condition[] {
  const { conditions: before = [] } = readConditions(status);
  return observed.map((one) => {
    const same = before.find(({ type, status }) => type === one.type && status === one.status);
    return { ...one, lastTransitionTime: same?.lastTransitionTime || timestamp(now) };
  });
}

/**
 * The members that are not in the status yet as they are wanted; null removes one.
 *
 * @returns undefined if nothing is to be written
 */
export function changedStatus(status: unknown, wanted: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const { status: old = {} } = partsOf({ status });
  const changed = Object.entries(wanted).filter(([key, value]) => !isSame(value, old[key]));
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** As JSON: a member that is undefined is none. */
const isSame = (wanted: unknown, old: unknown): boolean =>
  isDeepStrictEqual(wanted ?? undefined, old ?? undefined) ||
  (typeof wanted === 'object' && wanted !== null ? isDeepStrictEqual(JSON.parse(JSON.stringify(wanted)), old) : false);
