import { useSignal } from '@preact/signals';
import { Plus } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { Guarded } from '../../app/guarded';
import { may, useRights } from '../../app/rights';
import { href, navigate } from '../../app/router';
import { count, dateOnly, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty } from '../../ui/state';

const listRight = { verb: 'list', resource: 'groups' };
const createRight = { verb: 'create', resource: 'groups' };

export function Page() {
  useRights([listRight, createRight]);
  return (
    <Guarded right={listRight} title={t('groups.title')}>
      <Groups />
    </Guarded>
  );
}

function Groups() {
  const isOpen = useSignal(false);
  const load = useLoad('groups', (signal) => bodyOf(api.GET('/auth/v1/groups', { params: { query: { limit: 1000 } }, signal })));
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('groups.title')}</h1>
        <div class="buttons">
          {may(createRight) && (
            <Button
              kind="main"
              icon={Plus}
              onClick={() => {
                isOpen.value = true;
              }}
            >
              {t('groups.new')}
            </Button>
          )}
        </div>
      </header>
      <Loaded load={load}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t('groups.none')} />
          ) : (
            <PlainTable
              label={t('groups.title')}
              rows={items}
              idOf={({ metadata }) => metadata.name}
              columns={[
                {
                  title: t('users.name'),
                  cell: ({ metadata, spec }: Schemas['Group']) => (
                    <a class="strong" href={href(`/groups/${metadata.name}`)}>
                      {spec.displayName || metadata.name}
                    </a>
                  ),
                },
                { title: t('groups.inKubernetes'), cell: ({ metadata, spec }) => <code>{kubernetesName(metadata.name, spec)}</code> },
                { title: t('groups.members'), cell: ({ status }) => count(status?.memberCount ?? 0) },
                { title: t('user.created'), cell: ({ metadata }) => dateOnly(metadata.creationTimestamp) },
              ]}
            />
          )
        }
      </Loaded>
      {isOpen.value && (
        <NewGroup
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </section>
  );
}

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
