import { labelValueProblems } from '../../api/label-syntax.ts';
import { recordName, shortHash } from './name.ts';

const prefix = 'auth.platform.io';

export const createdByAnnotation = `${prefix}/created-by`;

export const isLabelValue = (text: string): boolean => labelValueProblems(text).length === 0;

/** Members of the spec of a User that labels repeat. */
interface LabelledSpec {
  email?: string | undefined;
  username?: string | undefined;
  connector_id?: string | undefined;
  connector_type?: string | undefined;
  state?: string | undefined;
  valid?: boolean | undefined;
}

/** Returns the labels that the service sets on a User with that spec. */
export function userLabels({
  email = '',
  username = '',
  connector_id = '',
  connector_type = '',
  state,
  valid,
}: LabelledSpec): Record<string, string> {
  return {
    [`${prefix}/user.email`]: recordName(email) ?? '',
    [`${prefix}/user.username`]: isLabelValue(username) ? username : shortHash(username),
    [`${prefix}/user.connector_id`]: connector_id,
    [`${prefix}/user.connector_type`]: connector_type,
    [`${prefix}/user.state`]: state || 'active',
    [`${prefix}/user.valid`]: String(valid !== false),
  };
}

/** Returns the labels that differ from the expected ones, or undefined if none does. */
export function labelsToChange(labels: Readonly<Record<string, string>> = {}, spec: LabelledSpec = {}): Record<string, string> | undefined {
  const changed = Object.entries(userLabels(spec)).filter(([key, value]) => labels[key] !== value);
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}
