import type { ComponentChildren } from 'preact';
import { eventsPage, pageOf } from '../../../../api/kinds';
import type { ClusterObject } from '../../../../api/objects';
import { href } from '../../../../app/router';
import { t } from '../../../../text/text';
import { PlainTable } from '../../../../ui/plain-table';
import { groupsOf } from '../../events/event-groups';
import { GroupTable } from '../../events/event-list';
import type { ClusterEvent } from '../../events/event-times';
import { problems } from '../conditions/condition-notices';
import { findKind } from '../find-kind';
import { LimitTable, QuotaTable } from '../limits/quota-tables';
import { ObjectLink } from '../object-link';
import { SubjectName } from '../rbac/subject-name';
import { RelatedObjects } from '../related/related-objects';
import type { Section, SectionProps } from '../section';
import { namespaceUsage } from '../usage-history/object-usage';
import { NamespacePods } from './namespace-pods';

const shownGroups = 10;
const rbacGroup = 'rbac.authorization.k8s.io';
const contents = ['pods', 'deployments.apps', 'statefulsets.apps', 'services', 'configmaps', 'secrets', 'persistentvolumeclaims'];

/** Links to the lists of this namespace. */
function Contents({ kinds, object: { metadata } }: SectionProps) {
  const found = contents.flatMap((id) => findKind(kinds, id) ?? []);
  return (
    <ul class="counts">
      {found.map((kind) => (
        <li key={kind.resource}>
          <a href={href(pageOf(kind, { namespace: metadata.name }))}>{kind.title}</a>
        </li>
      ))}
    </ul>
  );
}

interface NamedTablesProps extends SectionProps {
  id: string;
  kindName: string;
  none: string;
  table: (object: ClusterObject) => ComponentChildren;
}

/** Objects of the namespace, each a table below its name. */
function NamedTables({ kinds, object: { metadata }, id, kindName, none, table }: NamedTablesProps) {
  return (
    <RelatedObjects kinds={kinds} id={id} namespace={metadata.name}>
      {(found, isPart) =>
        found.length === 0
          ? !isPart && <p class="muted">{none}</p>
          : found.map((one) => (
              <article key={one.metadata.name} class="part">
                <h3>
                  <ObjectLink {...{ kinds, kind: kindName, name: one.metadata.name, namespace: metadata.name }} />
                </h3>
                {table(one)}
              </article>
            ))
      }
    </RelatedObjects>
  );
}

const Quotas = (props: SectionProps) => (
  <NamedTables
    {...props}
    id="resourcequotas"
    kindName="ResourceQuota"
    none={t('namespace.noQuota')}
    table={(quota) => <QuotaTable quota={quota} />}
  />
);

const Limits = (props: SectionProps) => (
  <NamedTables
    {...props}
    id="limitranges"
    kindName="LimitRange"
    none={t('namespace.noLimits')}
    table={(range) => <LimitTable range={range} />}
  />
);

function Warnings({ kinds, object: { metadata } }: SectionProps) {
  return (
    <RelatedObjects kinds={kinds} id="events" namespace={metadata.name} selection={{ fieldSelector: 'type=Warning' }}>
      {(events, isPart) => {
        const groups = groupsOf(events as unknown as readonly ClusterEvent[]);
        if (groups.length === 0) return isPart ? null : <p class="muted">{t('namespace.noWarnings')}</p>;
        return (
          <>
            <GroupTable groups={groups.slice(0, shownGroups)} kinds={kinds} hasNamespace={false} />
            {groups.length > shownGroups && <a href={href(eventsPage(metadata.name))}>{t('namespace.allEvents')}</a>}
          </>
        );
      }}
    </RelatedObjects>
  );
}

interface Binding extends ClusterObject {
  roleRef: { kind: string; name: string };
  subjects?: readonly { kind: string; name: string; namespace?: string }[];
}

/** RoleBindings of the namespace. ClusterRoleBindings count here, too, and have a list of their own. */
function Access({ kinds, object: { metadata } }: SectionProps) {
  const namespace = metadata.name;
  const everywhere = findKind(kinds, `clusterrolebindings.${rbacGroup}`);
  return (
    <>
      <RelatedObjects kinds={kinds} id={`rolebindings.${rbacGroup}`} namespace={namespace}>
        {(bindings, isPart) =>
          bindings.length === 0 ? (
            !isPart && <p class="muted">{t('namespace.noBindings')}</p>
          ) : (
            <PlainTable
              label={t('namespace.access')}
              rows={bindings as readonly Binding[]}
              idOf={({ metadata: { name } }) => name}
              columns={[
                { title: t('subjects.title'), cell: ({ subjects = [] }) => <SubjectList {...{ kinds, subjects }} /> },
                {
                  title: t('roles.role'),
                  cell: ({ roleRef: { kind, name } }) => <ObjectLink {...{ kinds, group: rbacGroup, kind, name, namespace }} />,
                },
                {
                  title: t('namespace.binding'),
                  cell: ({ metadata: { name } }) => <ObjectLink {...{ kinds, group: rbacGroup, kind: 'RoleBinding', name, namespace }} />,
                },
              ]}
            />
          )
        }
      </RelatedObjects>
      {everywhere && (
        <p class="muted">
          {t('namespace.everywhere')} <a href={href(pageOf(everywhere))}>{everywhere.title}</a>
        </p>
      )}
    </>
  );
}

function SubjectList({ kinds, subjects }: { kinds: SectionProps['kinds']; subjects: NonNullable<Binding['subjects']> }) {
  return (
    <ul>
      {subjects.map((subject) => (
        <li key={`${subject.kind}/${subject.namespace ?? ''}/${subject.name}`}>
          <SubjectName {...{ kinds, subject }} /> <span class="muted">{subject.kind}</span>
        </li>
      ))}
    </ul>
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = {
  namespaces: [
    problems,
    { View: Contents },
    { title: 'namespace.pods', View: NamespacePods },
    namespaceUsage,
    { title: 'namespace.warnings', View: Warnings },
    { title: 'namespace.quotas', View: Quotas },
    { title: 'namespace.limits', View: Limits },
    { title: 'namespace.access', View: Access },
  ],
};
