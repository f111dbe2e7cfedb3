/** Findings about a binding: how far its role reaches, and how much of it was seen in use. */
import type { PolicyRule } from '@atrium/kubernetes/rbac/rules.ts';
import type { StandingFinding, StandingUse } from './schema.ts';

/** Severities, the highest first. A role that the caller may not get can be anything. */
export const severities = ['Critical', 'High', 'Unknown', 'Medium', 'Low'] as const;
export type Severity = (typeof severities)[number];

/** Most that the rules of a role allow. */
export type Reach = 'FullControl' | 'Escalation' | 'Secrets' | 'Writes' | 'Reads' | 'Nothing';

const reads: ReadonlySet<string> = new Set(['get', 'list', 'watch']);
/** Verbs by which the API server lets a caller gain any right. */
const escalating: ReadonlySet<string> = new Set(['bind', 'escalate']);
const identities = ['users', 'groups'];
const escalatingResources = ['roles', 'clusterroles', ...identities];

const hasAny = (list: readonly string[], values: readonly string[]) => list.includes('*') || values.some((value) => list.includes(value));

const isFull = ({ verbs, apiGroups, resources, resourceNames }: PolicyRule) =>
  resourceNames.length === 0 && [verbs, apiGroups, resources].every((list) => list.includes('*'));

const escalates = ({ verbs, resources }: PolicyRule) =>
  verbs.some((verb) => escalating.has(verb)) ||
  (verbs.includes('impersonate') && hasAny(resources, identities)) ||
  (verbs.includes('*') && hasAny(resources, escalatingResources));

const readsSecrets = ({ verbs, apiGroups, resources }: PolicyRule) =>
  hasAny(apiGroups, ['']) && hasAny(resources, ['secrets']) && (verbs.includes('*') || verbs.some((verb) => reads.has(verb)));

const writes = ({ verbs, resources }: PolicyRule) => resources.length > 0 && verbs.some((verb) => !reads.has(verb));

export function reachOf(rules: readonly PolicyRule[]): Reach {
  if (rules.some(isFull)) return 'FullControl';
  if (rules.some(escalates)) return 'Escalation';
  if (rules.some(readsSecrets)) return 'Secrets';
  if (rules.some(writes)) return 'Writes';
  return rules.length > 0 ? 'Reads' : 'Nothing';
}

/** Facts about a binding that its severity depends on. */
export interface Risk {
  /** Undefined for a role that the caller may not get. */
  readonly reach: Reach | undefined;
  readonly isClusterWide: boolean;
  /** The binding names all users, or all requests without a user. */
  readonly isForEveryone: boolean;
}

const levels = ['Low', 'Medium', 'High', 'Critical'] as const;
const levelOf = { FullControl: 3, Escalation: 3, Secrets: 2, Writes: 1, Reads: 0, Nothing: 0 } as const satisfies Record<Reach, number>;

/** A binding of one namespace is a level below one of the cluster, and a binding for everyone a level above. */
export function severityOf({ reach, isClusterWide, isForEveryone }: Risk): Severity {
  if (reach === undefined) return 'Unknown';
  const level = Math.max(0, levelOf[reach] - (isClusterWide ? 0 : 1)) + (isForEveryone ? 1 : 0);
  return levels[Math.min(level, levels.length - 1)] ?? 'Low';
}

/** Returns what is worth a look, the most important first. */
export function findingsOf({ reach, isForEveryone }: Risk, people: number, use: StandingUse): StandingFinding[] {
  return [
    ...(reach === 'FullControl' || reach === 'Escalation' || reach === 'Secrets' ? [reach] : []),
    ...(isForEveryone ? ['Everyone' as const] : []),
    ...(reach === 'Nothing' ? ['NoRules' as const] : []),
    ...(use.state === 'NotSeen' ? ['NotSeen' as const] : []),
    ...(use.state === 'Used' && !use.atLeast && use.users < people ? ['PartlyUsed' as const] : []),
  ];
}
