import type { Config } from '../config/schema.ts';

type Rule = Config['audit']['recordings'][number];

export type RecordingMode = Rule['mode'];

/** Shell of which a rule decides whether it is recorded. */
interface Shell {
  namespace: string;
  /** Groups of the user in Kubernetes. */
  groups: readonly string[];
  /** Returns the AccessPolicies by which the user has a role now. */
  policies(): readonly string[];
}

/** Returns the mode of the first rule whose conditions all hold. */
export function modeOf(rules: readonly Rule[], { namespace, groups, policies }: Shell): RecordingMode {
  const some = (named: readonly string[] | undefined, of: () => readonly string[]) =>
    named === undefined || of().some((one) => named.includes(one));
  const rule = rules.find(
    (one) => some(one.namespaces, () => [namespace]) && some(one.groups, () => groups) && some(one.policies, policies),
  );
  return rule?.mode ?? 'off';
}
