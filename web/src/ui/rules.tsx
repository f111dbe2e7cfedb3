import { useLoad } from '../api/load';
import { getJson } from '../api/objects';
import { asProblem } from '../api/problem';
import { may, useRights } from '../app/rights';
import { t } from '../text/text';
import type { ClusterRole } from './role-choice';
import { Failure, Skeleton } from './state';

/** Reads a role as the caller. @returns undefined if the role does not exist */
async function roleOf(name: string, signal: AbortSignal): Promise<ClusterRole | undefined> {
  try {
    return await getJson(`api/kubernetes/apis/rbac.authorization.k8s.io/v1/clusterroles/${encodeURIComponent(name)}`, signal);
  } catch (error) {
    if (asProblem(error).isGone(name)) return undefined;
    throw error;
  }
}

/** Shows the rules of a role, one per line. */
export function RulesOf({ role }: { role: string }) {
  const right = { verb: 'get', group: 'rbac.authorization.k8s.io', resource: 'clusterroles', name: role };
  useRights(role ? [right] : []);
  const load = useLoad(role && may(right) ? `clusterrole/${role}` : undefined, async (signal) => ({ found: await roleOf(role, signal) }));
  if (!role) return null;
  if (may(right) === false) return <UnreadRules role={role} />;
  const { value: problem } = load.error;
  if (load.data.value === undefined && problem) return <Failure problem={problem} onRetry={load.reload} />;
  if (load.data.value === undefined) return <Skeleton rows={3} />;
  const { found } = load.data.value;
  if (found === undefined) return <p class="muted">{t('rules.missing')}</p>;
  return <RuleList rules={found.rules ?? []} />;
}

const usualRules = { view: 'rules.view', edit: 'rules.edit', admin: 'rules.admin', 'cluster-admin': 'rules.clusterAdmin' } as const;

/** Describes what Kubernetes gives to the role by default, because the caller may not read its rules. */
function UnreadRules({ role }: { role: string }) {
  const usual = Object.entries(usualRules).find(([name]) => name === role)?.[1];
  return (
    <>
      <p class="muted">{t('rules.mayNot', { role })}</p>
      {usual && <p>{t(usual)}</p>}
    </>
  );
}

export type Rules = NonNullable<ClusterRole['rules']>;

export function RuleList({ rules }: { rules: Rules }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard (WCAG 2.1.1)
    <ul class="rules" tabIndex={0}>
      {rules.map((rule) => (
        <li key={JSON.stringify(rule)}>
          <strong>{all(rule.verbs) ? t('rules.everything') : rule.verbs?.join(', ')}</strong>{' '}
          {rule.nonResourceURLs
            ? rule.nonResourceURLs.join(', ')
            : all(rule.resources)
              ? t('rules.allResources')
              : rule.resources?.join(', ')}
          {rule.resourceNames && ` (${rule.resourceNames.join(', ')})`}
          {groupsOf(rule.apiGroups) && <span class="muted small"> {groupsOf(rule.apiGroups)}</span>}
        </li>
      ))}
    </ul>
  );
}

const all = (words: readonly string[] | undefined) => words?.includes('*') === true;

const groupsOf = (groups: readonly string[] = []) =>
  all(groups) ? t('rules.allGroups') : groups.filter((group) => group !== '').join(', ');
