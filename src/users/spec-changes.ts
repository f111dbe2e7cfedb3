import { isDeepStrictEqual } from 'node:util';
import { partsOf } from '../api/reader.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { labelsToChange } from './record/labels.ts';
import { readUser } from './record/schema.ts';
import type { UserPatch } from './user-body.ts';

export const hasPassed = (time: string | undefined, now: Date) => time !== undefined && Date.parse(time) <= now.getTime();

/** Returns the changes of the spec and of its labels, or undefined if the spec does not change. */
export function specChanges(object: KubernetesObject, { spec = {} }: UserPatch, now: Date) {
  const { spec: old = {} } = partsOf(object);
  const { password: _password, old_password: _oldPassword, is_disabled, expired, ...plain } = spec;
  const wanted: Record<string, unknown> = {
    ...plain,
    ...(is_disabled !== undefined && { is_disabled, state: is_disabled ? 'inactive' : 'active' }),
    // The validity is replaced as a whole. Missing members are removed.
    ...(expired !== undefined && { expired: expired && { begin: null, end: null, ...expired } }),
  };
  const past = hasPassed(readUser(object).spec?.expired?.end, now);
  if (is_disabled === false && past && expired === undefined) wanted.expired = null;
  const changes = Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => !isDeepStrictEqual(value ?? undefined, old[key] ?? undefined)),
  );
  const labels = labelsToChange(object.metadata.labels, readUser({ spec: { ...old, ...changes } }).spec);
  return Object.keys(changes).length === 0 ? undefined : { spec: changes, labels };
}
