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

/**
 * A condition as it is to be written: where its status stays, it keeps the time since when it is so.
 *
 * @param status of the object as it was read
 */
export function setCondition(status: unknown, told: Omit<Condition, 'lastTransitionTime'>, now: Date): Condition {
  const { conditions: before = [] } = readConditions(status);
  const same = before.find((one) => one.type === told.type && one.status === told.status);
  return { ...told, lastTransitionTime: same?.lastTransitionTime || timestamp(now) };
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
