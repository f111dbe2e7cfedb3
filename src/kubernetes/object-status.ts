import { isDeepStrictEqual } from 'node:util';
import { isRecord } from './resource.ts';
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

/**
 * A condition as it is to be written: where its status stays, it keeps the time since when it is so.
 *
 * @param status of the object as it was read
 */
export function setCondition(status: unknown, told: Omit<Condition, 'lastTransitionTime'>, now: Date): Condition {
  const before = isRecord(status) && Array.isArray(status.conditions) ? status.conditions : [];
  const { lastTransitionTime } = before.filter(isRecord).find((one) => one.type === told.type && one.status === told.status) ?? {};
  const isKnown = typeof lastTransitionTime === 'string' && lastTransitionTime !== '';
  return { ...told, lastTransitionTime: isKnown ? lastTransitionTime : timestamp(now) };
}

/**
 * The members that are not in the status yet as they are wanted; null removes one.
 *
 * @returns undefined if nothing is to be written
 */
export function changedStatus(status: unknown, wanted: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const old = isRecord(status) ? status : {};
  const changed = Object.entries(wanted).filter(([key, value]) => !isSame(value, old[key]));
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/** As JSON: a member that is undefined is none. */
const isSame = (wanted: unknown, old: unknown): boolean =>
  isDeepStrictEqual(wanted ?? undefined, old ?? undefined) ||
  (isRecord(wanted) || Array.isArray(wanted) ? isDeepStrictEqual(JSON.parse(JSON.stringify(wanted)), old) : false);
