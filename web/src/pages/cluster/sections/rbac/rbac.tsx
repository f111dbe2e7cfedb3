import { t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { PlainTable } from '../../../../ui/plain-table';
import { RuleList, type Rules } from '../../../../ui/rules';
import { Empty } from '../../../../ui/state';
import { usedBy } from '../chain/used-by';
import { ObjectLink } from '../object-link';
import { RelatedTable } from '../related/related-table';
import type { Section, SectionProps } from '../section';
import { AccountRights } from './account-rights';
import { roleRefOf, subjectsOf } from './bindings';
import { BoundBy } from './bound-by';
import { SubjectName } from './subject-name';

const group = 'rbac.authorization.k8s.io';

function RoleRules({ object }: SectionProps) {
  const rules = (Array.isArray(object.rules) ? object.rules : []) as Rules;
  return rules.length === 0 ? <Empty text={t('rules.none')} /> : <RuleList rules={rules} />;
}

function BoundRole({ kinds, object }: SectionProps) {
  const { kind, name } = roleRefOf(object);
  const { namespace } = object.metadata;
  return (
    <Facts
      of={[
        [t('roles.role'), <ObjectLink key="role" {...{ kinds, group, kind, name, namespace }} />],
        [t('subjects.roleKind'), kind],
        [t('roles.where'), namespace === undefined && t('roles.everywhere')],
      ]}
    />
  );
}

function Subjects({ kinds, object }: SectionProps) {
  const subjects = subjectsOf(object);
  if (subjects.length === 0) return <Empty text={t('subjects.none')} />;
  return (
    <PlainTable
      label={t('subjects.title')}
      rows={subjects}
      idOf={({ kind, namespace = '', name }) => `${kind}/${namespace}/${name}`}
      columns={[
        { title: t('subjects.kind'), cell: ({ kind }) => kind },
        { title: t('subjects.name'), cell: (subject) => <SubjectName {...{ kinds, subject }} /> },
        { title: t('cluster.namespace'), cell: ({ namespace }) => namespace },
      ]}
    />
  );
}

function AccountFacts({ kinds, object }: SectionProps) {
  const { namespace } = object.metadata;
  const pull = (object.imagePullSecrets ?? []) as readonly { name: string }[];
  return (
    <Facts
      of={[
        [t('account.token'), t(object.automountServiceAccountToken === false ? 'object.no' : 'object.yes')],
        [
          t('account.pullSecrets'),
          pull.length > 0 && (
            <ul key="pull">
              {pull.map(({ name }) => (
                <li key={name}>
                  <ObjectLink {...{ kinds, kind: 'Secret', name, namespace }} />
                </li>
              ))}
            </ul>
          ),
        ],
      ]}
    />
  );
}

function AccountPods({ kinds, object: { metadata } }: SectionProps) {
  const pods = kinds.find((kind) => kind.group === '' && kind.resource === 'pods');
  if (pods === undefined) return null;
  const selection = { fieldSelector: `spec.serviceAccountName=${metadata.name}` };
  return <RelatedTable kinds={kinds} kind={pods} namespace={metadata.namespace} selection={selection} label={t('account.pods')} />;
}

const rules: readonly Section[] = [
  { title: 'rules.title', View: RoleRules },
  { title: 'bound.title', View: BoundBy },
];
const binding: readonly Section[] = [{ View: BoundRole }, { title: 'subjects.title', View: Subjects }];

export const sections: Readonly<Record<string, readonly Section[]>> = {
  [`roles.${group}`]: rules,
  [`clusterroles.${group}`]: rules,
  [`rolebindings.${group}`]: binding,
  [`clusterrolebindings.${group}`]: binding,
  serviceaccounts: [
    { View: AccountFacts },
    { title: 'bound.rights', View: AccountRights },
    { title: 'account.pods', View: AccountPods },
    usedBy,
  ],
};
