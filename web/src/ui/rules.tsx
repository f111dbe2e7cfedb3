import { useLoad } from '../api/load';
import { may, useRights } from '../app/rights';
import { t } from '../text/text';
import { type ClusterRole, fromCluster } from './role-choice';
import { Skeleton } from './state';

/** Shows the rules of a role, one per line. */
export function RulesOf({ role }: { role: string }) {
  const right = { verb: 'get', group: 'rbac.authorization.k8s.io', resource: 'clusterroles', name: role };
  useRights(role ? [right] : []);
  const load = useLoad(role && may(right) ? `clusterrole/${role}` : undefined, (signal) =>
    fromCluster<ClusterRole>(`/apis/rbac.authorization.k8s.io/v1/clusterroles/${encodeURIComponent(role)}`, signal).then((found) => ({
      found,
    })),
  );
  if (!role) return null;
  if (may(right) === false) return <p class="muted">{t('rules.mayNot')}</p>;
  if (load.data.value === undefined) return <Skeleton rows={3} />;
  const { found } = load.data.value;
  if (found === undefined) return <p class="muted">{t('rules.missing')}</p>;
  return <RuleList rules={found.rules ?? []} />;
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
