import { useSignal } from '@preact/signals';
import { Plus } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { followObjects, useWindows } from '../../api/use-windows';
import { windowSize } from '../../api/windows';
import { Guarded } from '../../app/guarded';
import { RefusedMenu } from '../../app/refused-menu';
import { may, useRights } from '../../app/rights';
import { href, navigate, query } from '../../app/router';
import { count, dateOnly, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { sortBy, sortIn } from '../../ui/sort';
import type { Column } from '../../ui/table';
import { WindowList } from '../../ui/window-list';

const listRight = { verb: 'list', resource: 'groups' };
const createRight = { verb: 'create', resource: 'groups' };
const watchRight = { verb: 'watch', resource: 'groups' };

type Group = Schemas['Group'];

export function Page() {
  useRights([listRight, createRight, watchRight]);
  return (
    <Guarded right={listRight} title={t('groups.title')}>
      <Groups />
    </Guarded>
  );
}

const sortable = ['name', 'displayName', 'memberCount', 'creationTimestamp'];

function Groups() {
  const isOpen = useSignal(false);
  const asked = { search: query.value.get('q') ?? '', sortBy: sortBy(sortIn(query.value, sortable)) };
  const windows = useWindows<Group>({
    key: `groups?${JSON.stringify(asked)}`,
    fetch: (page, signal) => bodyOf(api.GET('/auth/v1/groups', { params: { query: { ...asked, page, limit: windowSize } }, signal })),
    follow: may(watchRight) ? followObjects<Group>('api/kubernetes/apis/auth.platform.io/v1/groups') : undefined,
  });
  return (
    <>
      <WindowList
        label={t('groups.title')}
        search={t('groups.search')}
        none={t('groups.none')}
        windows={windows}
        columns={columns()}
        sortable={sortable}
        nameOf={({ metadata, spec }) => spec.displayName || metadata.name}
        buttons={
          may(createRight) ? (
            <Button
              kind="main"
              icon={Plus}
              onClick={() => {
                isOpen.value = true;
              }}
            >
              {t('groups.new')}
            </Button>
          ) : (
            <RefusedMenu of={[{ rights: [createRight], label: t('groups.new'), icon: Plus }]} />
          )
        }
      />
      {isOpen.value && (
        <NewGroup
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}

const columns = (): readonly Column<Group>[] => [
  {
    id: 'name',
    title: t('users.name'),
    sortBy: 'displayName',
    cell: ({ metadata, spec }) => (
      <a class="strong" href={href(`/groups/${metadata.name}`)}>
        {spec.displayName || metadata.name}
      </a>
    ),
  },
  {
    id: 'kubernetes',
    title: t('groups.inKubernetes'),
    sortBy: 'name',
    cell: ({ metadata, spec }) => <code>{kubernetesName(metadata.name, spec)}</code>,
  },
  {
    id: 'phase',
    title: t('groups.members'),
    sortBy: 'memberCount',
    cell: ({ status }) => t('groups.memberCount', { count: status?.memberCount ?? 0, shown: count(status?.memberCount ?? 0) }),
  },
  {
    id: 'created',
    title: t('user.created'),
    sortBy: 'creationTimestamp',
    isMinor: true,
    cell: ({ metadata }) => dateOnly(metadata.creationTimestamp),
  },
];

/** Members of a local group have it in Kubernetes under a name that no issuer can give. */
const kubernetesName = (name: string, { refConnector }: Schemas['Group']['spec']) => (refConnector ? name : `local:${name}`);

function NewGroup({ onClose }: { onClose: () => void }) {
  const [name, displayName, description] = [useSignal(''), useSignal(''), useSignal('')];
  async function create(): Promise<void> {
    const spec = {
      ...(displayName.value && { displayName: displayName.value }),
      ...(description.value && { description: description.value }),
    };
    await api.POST('/auth/v1/groups', { body: { metadata: { name: name.value }, spec } });
    navigate(`/groups/${name.value}`);
  }
  return (
    <Dialog title={t('groups.new')} onClose={onClose}>
      <Form action={t('groups.create')} onSubmit={create} onCancel={onClose}>
        <Field label={t('groups.id')} name="metadata.name" value={name} isRequired isCode hint={t('groups.idHint')} />
        <Field label={t('groups.displayName')} name="spec.displayName" value={displayName} />
        <Field label={t('groups.description')} name="spec.description" value={description} />
      </Form>
    </Dialog>
  );
}
