import type { ClusterObject } from '../../../../api/objects';
import { t } from '../../../../text/text';
import { PlainTable } from '../../../../ui/plain-table';
import { ObjectLink } from '../object-link';
import type { SectionProps } from '../section';
import { BindingList } from './binding-list';
import { bindsRole, subjectsOf } from './bindings';
import { SubjectName } from './subject-name';

const group = 'rbac.authorization.k8s.io';
const shownSubjects = 10;

/** Shows the subjects to which a role is bound, and where. A Role is bound in its own namespace only. */
export function BoundBy({ kinds, object }: SectionProps) {
  const { namespace } = object.metadata;
  const matches = (binding: ClusterObject) => bindsRole(object, binding);
  return (
    <>
      {namespace === undefined && <h3>{t('bound.everywhere')}</h3>}
      {namespace === undefined && (
        <BindingList {...{ kinds, matches }} resource="clusterrolebindings">
          {(bindings) => <BindingTable {...{ kinds, bindings }} label={t('bound.everywhere')} />}
        </BindingList>
      )}
      {namespace === undefined && <h3>{t('bound.inNamespaces')}</h3>}
      <BindingList {...{ kinds, matches, namespace }} resource="rolebindings">
        {(bindings) => <BindingTable {...{ kinds, bindings }} label={t('bound.inNamespaces')} />}
      </BindingList>
    </>
  );
}

interface BindingTableProps {
  kinds: SectionProps['kinds'];
  bindings: readonly ClusterObject[];
  label: string;
}

const BindingTable = ({ kinds, bindings, label }: BindingTableProps) => (
  <PlainTable
    label={label}
    rows={bindings}
    idOf={({ metadata: { namespace = '', name } }) => `${namespace}/${name}`}
    columns={[
      { title: t('roles.binding'), cell: (binding) => <BindingName {...{ kinds, binding }} /> },
      ...(bindings.some(({ metadata }) => metadata.namespace)
        ? [{ title: t('cluster.namespace'), cell: ({ metadata }: ClusterObject) => metadata.namespace }]
        : []),
      { title: t('subjects.title'), cell: (binding) => <SubjectNames {...{ kinds, binding }} /> },
    ]}
  />
);

interface OfBinding {
  kinds: SectionProps['kinds'];
  binding: ClusterObject;
}

/** The items of a list lack their kind. */
export function BindingName({ kinds, binding: { metadata } }: OfBinding) {
  const { name, namespace } = metadata;
  return <ObjectLink {...{ kinds, group, name, namespace }} kind={namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding'} />;
}

function SubjectNames({ kinds, binding }: OfBinding) {
  const subjects = subjectsOf(binding);
  if (subjects.length === 0) return <span class="muted">{t('subjects.none')}</span>;
  return (
    <ul>
      {subjects.slice(0, shownSubjects).map((subject) => (
        <li key={`${subject.kind}/${subject.namespace}/${subject.name}`}>
          <span class="muted">{subject.kind}</span> <SubjectName {...{ kinds, subject }} />{' '}
          {subject.namespace && <span class="muted">{subject.namespace}</span>}
        </li>
      ))}
      {subjects.length > shownSubjects && <li class="muted">{t('bound.more', { count: subjects.length - shownSubjects })}</li>}
    </ul>
  );
}
