import { useSignal } from '@preact/signals';
import { Plus } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { followObjects } from '../../api/use-windows';
import { windowSize } from '../../api/window-size';
import { type List, ListPage } from '../../app/list-page';
import { may } from '../../app/rights';
import { href, navigate } from '../../app/router';
import { count, dateOnly, t } from '../../text/text';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import type { Column } from '../../ui/table';

const listRight = { verb: 'list', resource: 'groups' };
const createRight = { verb: 'create', resource: 'groups' };
const watchRight = { verb: 'watch', resource: 'groups' };

type Group = Schemas['Group'];

const sortable = ['name', 'displayName', 'memberCount', 'creationTimestamp'];

const groupList = (): List<Group> => ({
  key: 'groups',
  label: t('groups.title'),
  none: t('groups.none'),
  search: t('groups.search'),
  columns: columns(),
  sortable,
  nameOf: ({ metadata, spec }) => spec.displayName || metadata.name,
  fetch:
    ({ parameters }) =>
    (page, signal) =>
      bodyOf(api.GET('/auth/v1/groups', { params: { query: { ...parameters, page, limit: windowSize } }, signal })),
  follow: may(watchRight) ? () => followObjects<Group>('api/kubernetes/apis/auth.platform.io/v1/groups') : undefined,
});

export function Page() {
  const isOpen = useSignal(false);
  const show = (isShown: boolean) => () => {
    isOpen.value = isShown;
  };
  return (
    <ListPage
      list={groupList()}
      right={listRight}
      rights={[watchRight]}
      offers={[{ rights: [createRight], label: t('groups.new'), icon: Plus, to: show(true), isMain: true }]}
    >
      {isOpen.value && <NewGroup onClose={show(false)} />}
    </ListPage>
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
  async function create(signal: AbortSignal): Promise<void> {
    const spec = {
      ...(displayName.value && { displayName: displayName.value }),
      ...(description.value && { description: description.value }),
    };
    await api.POST('/auth/v1/groups', { body: { metadata: { name: name.value }, spec } });
    signal.throwIfAborted();
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
