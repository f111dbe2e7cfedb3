import { apiPath, kindId } from '../../../../api/kinds';
import { useLoad } from '../../../../api/load';
import { type ClusterObject, getJson } from '../../../../api/objects';
import { asProblem } from '../../../../api/problem';
import { t } from '../../../../text/text';
import { Loaded } from '../../../../ui/loaded';
import { PlainTable } from '../../../../ui/plain-table';
import { RuleList, type Rules } from '../../../../ui/rules';
import { ObjectLink } from '../object-link';
import type { SectionProps } from '../section';
import { BindingList } from './binding-list';
import { roleRefOf, subjectForAccount } from './bindings';
import { BindingName } from './bound-by';

const group = 'rbac.authorization.k8s.io';
/** The rules of more roles are on their own pages. */
const readRoles = 20;

/** Shows what a ServiceAccount may do: the rules of the roles that are bound to the account and its groups. */
export function AccountRights({ kinds, object }: SectionProps) {
  const matches = (binding: ClusterObject) => subjectForAccount(object, binding) !== undefined;
  return (
    <>
      <h3>{t('bound.inNamespaces')}</h3>
      <BindingList {...{ kinds, matches }} resource="rolebindings" fallback={object.metadata.namespace}>
        {(bindings) => <RoleTable {...{ kinds, bindings }} account={object} label={t('bound.inNamespaces')} />}
      </BindingList>
      <h3>{t('bound.everywhere')}</h3>
      <BindingList {...{ kinds, matches }} resource="clusterrolebindings">
        {(bindings) => <RoleTable {...{ kinds, bindings }} account={object} label={t('bound.everywhere')} />}
      </BindingList>
    </>
  );
}

interface RoleTableProps {
  kinds: SectionProps['kinds'];
  bindings: readonly ClusterObject[];
  account: ClusterObject;
  label: string;
}

function RoleTable({ kinds, bindings, account, label }: RoleTableProps) {
  const paths = [...new Set(bindings.map((binding) => rolePath(kinds, binding)))].slice(0, readRoles);
  const load = useLoad(
    `roleRules/${paths.join()}`,
    async (signal) => new Map(await Promise.all(paths.map((path) => readRules(path, signal)))),
  );
  return (
    <Loaded load={load}>
      {(rules) => (
        <PlainTable
          label={label}
          rows={bindings}
          idOf={({ metadata: { namespace = '', name } }) => `${namespace}/${name}`}
          columns={[
            { title: t('roles.role'), cell: (binding) => <RoleName {...{ kinds, binding }} /> },
            ...(bindings.some(({ metadata }) => metadata.namespace)
              ? [{ title: t('cluster.namespace'), cell: ({ metadata }: ClusterObject) => metadata.namespace }]
              : []),
            { title: t('rules.title'), cell: (binding) => <RulesCell rules={rules.get(rolePath(kinds, binding))} /> },
            { title: t('roles.binding'), cell: (binding) => <BindingName {...{ kinds, binding }} /> },
            { title: t('roles.via'), cell: (binding) => throughText(account, binding) },
          ]}
        />
      )}
    </Loaded>
  );
}

/** The rules of a role, or why they are not there. */
type RoleRules = Rules | 'mayNot' | 'missing';

const rolePath = (kinds: SectionProps['kinds'], binding: ClusterObject): string => {
  const { kind, name } = roleRefOf(binding);
  const id = `${kind === 'Role' ? 'roles' : 'clusterroles'}.${group}`;
  const role = kinds.find((one) => kindId(one) === id && one.isPreferred);
  return role ? apiPath(role, { name, ...(kind === 'Role' && { namespace: binding.metadata.namespace }) }) : '';
};

async function readRules(path: string, signal: AbortSignal): Promise<[string, RoleRules]> {
  try {
    const { rules } = await getJson<{ rules?: Rules | null }>(path, signal);
    return [path, rules ?? []];
  } catch (error) {
    const problem = asProblem(error);
    if (problem.status === 403) return [path, 'mayNot'];
    if (problem.isGone(decodeURIComponent(path.split('/').at(-1) ?? ''))) return [path, 'missing'];
    throw error;
  }
}

function RulesCell({ rules }: { rules: RoleRules | undefined }) {
  if (rules === undefined) return <span class="muted">{t('bound.rulesElsewhere')}</span>;
  if (typeof rules === 'string') return <span class="muted">{t(`rules.${rules}`)}</span>;
  return rules.length === 0 ? <span class="muted">{t('rules.none')}</span> : <RuleList rules={rules} />;
}

function RoleName({ kinds, binding }: { kinds: SectionProps['kinds']; binding: ClusterObject }) {
  const { kind, name } = roleRefOf(binding);
  return <ObjectLink {...{ kinds, group, kind, name, namespace: binding.metadata.namespace }} />;
}

function throughText(account: ClusterObject, binding: ClusterObject): string {
  const subject = subjectForAccount(account, binding);
  return subject?.kind === 'Group' ? t('roles.group', { name: subject.name }) : t('bound.itself');
}
