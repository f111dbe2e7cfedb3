import { isDeepStrictEqual } from 'node:util';
import { conditions } from '@atrium/objects/object-schemas.ts';
import { partsOf, reader } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import { timestamp } from './clock.ts';

/** @see https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#condition-v1-meta */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
}

const readStatus = reader(z.object({ conditions, observedGeneration: z.int() }));

/** An observed condition. The time of its last transition is added when it is written. */
export type Observed = Omit<Condition, 'lastTransitionTime'>;

/**
 * Returns the conditions to write. A condition keeps its time unless its status changes. Conditions of earlier versions have no
 * `observedGeneration`: they get it with the next change, so that an upgrade does not write each object.
 *
 * @param status status of the object as it was read
 */
export function setConditions(status: unknown, observed: readonly Observed[], now: Date): Condition[] {
  const { conditions: before = [], observedGeneration } = readStatus(status);
  return observed.map((one) => {
    const same = before.find(({ type, status }) => type === one.type && status === one.status);
    const written = { ...one, lastTransitionTime: same?.lastTransitionTime || timestamp(now) };
    const isOfEarlierVersion = same !== undefined && same.observedGeneration === undefined && observedGeneration === one.observedGeneration;
    if (!isOfEarlierVersion || !isDeepStrictEqual({ ...same, observedGeneration }, written)) return written;
    const { observedGeneration: _, ...unchanged } = written;
    return unchanged;
  });
}

/** Returns a condition of a status as it was read. */
export const conditionOf = (status: unknown, type: string) => readStatus(status).conditions?.find((one) => one.type === type);

/**
 * Returns the members of the wanted status that differ from the current one. null removes a member.
 *
 * @returns undefined if nothing has to be written
 */
export function changedStatus(status: unknown, wanted: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const { status: old = {} } = partsOf({ status });
  const changed = Object.entries(wanted).filter(([key, value]) => !isSame(value, old[key]));
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** Compares values as JSON, in which an undefined member does not exist. */
const isSame = (wanted: unknown, old: unknown): boolean =>
  isDeepStrictEqual(wanted ?? undefined, old ?? undefined) ||
  (typeof wanted === 'object' && wanted !== null ? isDeepStrictEqual(JSON.parse(JSON.stringify(wanted)), old) : false);
