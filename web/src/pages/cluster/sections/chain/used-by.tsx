/** Users of a ConfigMap, Secret, claim or account: pods, workloads, Ingresses and accounts of its namespace. */
import { objectState } from '@atrium/objects/object-state.ts';
import type { UsedKind } from '@atrium/objects/references.ts';
import { type User, usersOf } from '@atrium/objects/used-by.ts';
import type { ClusterObject } from '../../../../api/objects';
import { t } from '../../../../text/text';
import { Loaded } from '../../../../ui/loaded';
import { PlainTable } from '../../../../ui/plain-table';
import { Empty } from '../../../../ui/state';
import { StateView } from '../../cells';
import { groupOf } from '../find-kind';
import { ObjectLink } from '../object-link';
import type { Section, SectionProps } from '../section';
import { userReads } from './chain-reads';
import { GapText } from './gap-text';
import { useReads } from './use-reads';

const shownUsers = 50;

type Row = User & { object: ClusterObject };

function UsedBy(props: SectionProps) {
  const { kinds, kind, object } = props;
  const { load, refused } = useReads('used-by', object, userReads(kinds, kind));
  return (
    <Loaded load={load}>
      {({ objects, gaps }) => {
        const users = usersOf({ kind: kind.kind as UsedKind, name: object.metadata.name }, objects) as Row[];
        const missing = [...refused, ...gaps];
        return (
          <>
            {users.length > 0 && <Users {...props} users={users} />}
            {users.length === 0 && missing.length === 0 && <Empty text={t('usedBy.none')} />}
            {users.length > shownUsers && <p class="muted">{t('usedBy.more', { count: users.length - shownUsers })}</p>}
            {missing.map((gap) => (
              <GapText key={gap.kind.resource} gap={gap} />
            ))}
          </>
        );
      }}
    </Loaded>
  );
}

const Users = ({ kinds, users }: SectionProps & { users: readonly Row[] }) => (
  <PlainTable
    label={t('usedBy.title')}
    rows={users.slice(0, shownUsers)}
    idOf={({ object }) => `${object.kind}/${object.metadata.name}`}
    columns={[
      {
        title: t('cluster.object'),
        cell: ({ object: { kind, apiVersion, metadata } }) => (
          <>
            {kind} <ObjectLink {...{ kinds, kind }} group={groupOf(apiVersion)} name={metadata.name} namespace={metadata.namespace} />
          </>
        ),
      },
      { title: t('cluster.state'), cell: ({ object }) => <StateView of={objectState(object)} /> },
      { title: t('usedBy.places'), cell: ({ by }) => by.join(', ') },
      { title: t('object.pods'), isNumber: true, cell: ({ pods }) => (pods > 0 ? pods : '') },
    ]}
  />
);

export const usedBy: Section = { title: 'usedBy.title', View: UsedBy };
