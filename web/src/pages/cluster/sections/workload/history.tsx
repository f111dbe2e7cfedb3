import { useSignal } from '@preact/signals';
import { Undo2 } from 'lucide';
import type { ComponentChildren } from 'preact';
import { apiPath, type Kind } from '../../../../api/kinds';
import { refetch, useLoad } from '../../../../api/load';
import { type ClusterObject, getJson, write } from '../../../../api/objects';
import { useWatch } from '../../../../api/watch';
import { AskBeside } from '../../../../app/ask';
import { may, type Right, useRights } from '../../../../app/rights';
import { askWhy } from '../../../../app/why';
import { t } from '../../../../text/text';
import { Age } from '../../../../ui/age';
import { Button } from '../../../../ui/button';
import { Dialog } from '../../../../ui/dialog';
import { Form } from '../../../../ui/form';
import { Loaded } from '../../../../ui/loaded';
import { PlainTable } from '../../../../ui/plain-table';
import { Notice } from '../../../../ui/state';
import { toast } from '../../../../ui/toast';
import { AsKubectl } from '../../as-kubectl';
import { kubectlFor } from '../../kubectl';
import { Changes } from '../../yaml/code';
import { sortKeys } from '../../yaml/unchanged';
import { findKind } from '../find-kind';
import { GuardedPart } from '../guarded-part';
import { ObjectLink } from '../object-link';
import type { SectionProps } from '../section';
import { selectedLabels } from '../selector';
import { followRollout } from './follow-rollout';
import { annotationsAfter, type Revision, revisionKindOf, revisionsOf, rollbackPatch } from './revisions';

interface SetList {
  metadata: { resourceVersion: string };
  items: ClusterObject[];
}

/** The revisions of a workload, and the way back to one of them. */
export function History({ kind, kinds, object }: SectionProps) {
  const held = findKind(kinds, revisionKindOf(object) === 'ReplicaSet' ? 'replicasets.apps' : 'controllerrevisions.apps');
  const { namespace = '', name } = object.metadata;
  const right = (verb: string): Right => ({ verb, group: 'apps', resource: held?.resource ?? '', namespace });
  const rights = { list: right('list'), watch: right('watch'), patch: { ...right('patch'), resource: kind.resource, name } };
  useRights(held ? Object.values(rights) : []);
  if (held === undefined) return null;
  return (
    <GuardedPart right={rights.list}>
      <RevisionTable {...{ kind, kinds, object, held, rights }} />
    </GuardedPart>
  );
}

interface TableProps extends SectionProps {
  held: Kind;
  rights: Readonly<Record<'watch' | 'patch', Right>>;
}

function RevisionTable({ kind, kinds, object, held, rights }: TableProps) {
  const { namespace } = object.metadata;
  const chosen = useSignal<Revision | undefined>(undefined);
  const path = apiPath(held, { namespace });
  const labelSelector = selectedLabels(object);
  const load = useLoad(`revisions/${path}/${labelSelector}`, (signal) =>
    getJson<SetList>(`${path}?${new URLSearchParams({ labelSelector, limit: '500' })}`, signal),
  );
  const watched = { path: may(rights.watch) === true ? path : undefined, labelSelector };
  const lost = useWatch({ ...watched, resourceVersion: load.data.value?.metadata.resourceVersion }, load.reload);
  const choose = (revision: Revision) => () => {
    if (may(rights.patch) === false) askWhy(rights.patch);
    else chosen.value = revision;
  };
  return (
    <Loaded load={load} lost={lost.value}>
      {({ items }) => (
        <>
          <PlainTable
            label={t('object.history')}
            rows={revisionsOf(object, items)}
            idOf={({ name }) => name}
            columns={[
              ...columnsOf(held, ({ name }) => <ObjectLink {...{ kinds, kind: held.kind, group: 'apps', name, namespace }} />),
              {
                title: '',
                cell: (revision) => !revision.isCurrent && <RollBackButton right={rights.patch} onClick={choose(revision)} />,
              },
            ]}
          />
          {chosen.value && (
            <RollBack
              {...{ kind, object }}
              revision={chosen.value}
              onClose={() => {
                chosen.value = undefined;
              }}
            />
          )}
        </>
      )}
    </Loaded>
  );
}

/** @param linkTo the object that holds a revision */
const columnsOf = (held: Kind, linkTo: (revision: Revision) => ComponentChildren) => [
  {
    title: t('object.revision'),
    cell: ({ number, isCurrent }: Revision) => (isCurrent ? t('object.currentRevision', { number }) : number),
  },
  { title: t('object.images'), cell: ({ images }: Revision) => <code>{images.join(', ')}</code> },
  { title: t('object.cause'), cell: ({ cause }: Revision) => cause },
  ...(held.kind === 'ReplicaSet' ? [{ title: t('object.pods'), cell: ({ pods }: Revision) => pods }] : []),
  { title: t('cluster.age'), cell: ({ createdAt }: Revision) => <Age since={createdAt} /> },
  { title: held.kind, cell: linkTo },
];

function RollBackButton({ right, onClick }: { right: Right; onClick: () => void }) {
  const isRefused = may(right) === false;
  return (
    <AskBeside right={isRefused ? right : undefined}>
      <Button kind="quiet" icon={Undo2} onClick={onClick} isRefused={isRefused}>
        {t('object.rollBack')}
      </Button>
    </AskBeside>
  );
}

interface RollBackProps extends Pick<SectionProps, 'kind' | 'object'> {
  revision: Revision;
  onClose: () => void;
}

/** Shows what a rollback changes, and does it after a dry run. Like kubectl, refuses it while the rollout is paused. */
function RollBack({ kind, object, revision, onClose }: RollBackProps) {
  const { name, annotations } = object.metadata;
  const isPaused = object.spec?.paused === true;
  const restored = annotationsAfter(object, revision);
  const changed = (template: unknown, notes: unknown) =>
    sortKeys({ ...(restored && { metadata: { annotations: notes } }), spec: { template } });
  const heavy = useLoad('editors/editor', () => import('../../../../editors/editor'));
  async function rollBack(signal: AbortSignal): Promise<void> {
    const path = apiPath(kind, object.metadata);
    const patch = { method: 'PATCH', body: rollbackPatch(object, revision), contentType: 'application/json-patch+json' } as const;
    await write(`${path}?dryRun=All`, patch);
    signal.throwIfAborted();
    followRollout(kind, await write<ClusterObject>(path, patch));
    toast('info', t('object.rollBackBegun', { name, number: revision.number }));
    onClose();
    await refetch('object/', 'revisions/');
  }
  const title = t('object.rollBackTo', { name, number: revision.number });
  return (
    <Dialog title={title} onClose={onClose} isWide>
      <Form action={title} onSubmit={rollBack} onCancel={onClose} isDisabled={isPaused}>
        {isPaused && <Notice kind="warn">{t('object.rollBackPaused')}</Notice>}
        <Loaded load={heavy}>
          {({ stringify }) => (
            <div class="review">
              <Changes
                label={t('cluster.changes')}
                before={stringify(changed(object.spec?.template, annotations))}
                after={stringify(changed(revision.template, restored))}
              />
            </div>
          )}
        </Loaded>
        <AsKubectl command={kubectlFor(['rollout', 'undo'], kind, object.metadata, `--to-revision=${revision.number}`)} />
      </Form>
    </Dialog>
  );
}
