import { labelValueProblems } from '../../api/label-syntax.ts';
import { isRecord } from '../../kubernetes/resource.ts';
import { recordName, shortHash } from './name.ts';

const prefix = 'auth.platform.io';

export const createdByAnnotation = `${prefix}/created-by`;

export const isLabelValue = (text: string): boolean => labelValueProblems(text).length === 0;

/** The labels that the service keeps on a User, by its spec. */
export function userLabels(spec: Readonly<Record<string, unknown>>): Record<string, string> {
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const username = text(spec.username);
  return {
    [`${prefix}/user.email`]: recordName(text(spec.email)) ?? '',
    [`${prefix}/user.username`]: isLabelValue(username) ? username : shortHash(username),
    [`${prefix}/user.connector_id`]: text(spec.connector_id),
    [`${prefix}/user.connector_type`]: text(spec.connector_type),
    [`${prefix}/user.state`]: text(spec.state) || 'active',
    [`${prefix}/user.valid`]: String(spec.valid !== false),
  };
}

/** Those that are not as they should be. */
export function labelsToChange(labels: unknown, spec: Readonly<Record<string, unknown>>): Record<string, string> | undefined {
  const given = isRecord(labels) ? labels : {};
  const changed = Object.entries(userLabels(spec)).filter(([key, value]) => given[key] !== value);
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}
