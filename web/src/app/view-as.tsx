import { useSignal } from '@preact/signals';
import { Eye } from 'lucide';
import { call } from '../api/client';
import { startView, viewHeaders } from '../api/view';
import { t } from '../text/text';
import { Dialog } from '../ui/dialog';
import { Facts } from '../ui/facts';
import { Form } from '../ui/form';
import type { MenuItem } from '../ui/menu';
import { may, type Right } from './rights';
import { person } from './session';
import { guarded } from './why';

interface Target {
  /** User name in Kubernetes. */
  user: string;
  groups: readonly string[];
  /** Name of the User record. */
  record?: string;
}

const kinds = { user: 'users', group: 'groups' } as const;

/** Rights that let the caller view as a user or group. Constrained impersonation has a verb of its own. */
export const viewRights = (kind: keyof typeof kinds, name: string): [Right, Right] => [
  { verb: 'impersonate', group: '', resource: kinds[kind], name },
  { verb: 'impersonate:user-info', group: 'authentication.k8s.io', resource: kinds[kind], name },
];

/** Returns the menu item that views the cluster as a user or group, greyed without one of the rights. */
export function viewItem(kind: keyof typeof kinds, name: string, act: () => void): MenuItem {
  const [impersonate, constrained] = viewRights(kind, name);
  const item = { label: t('view.as'), icon: Eye, act };
  return may(constrained) ? item : guarded([impersonate], item);
}

interface ViewAsProps extends Target {
  title: string;
  onClose: () => void;
}

const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };

/** Dialog that begins a view, once the cluster has accepted it. */
export function ViewAs({ title, user, groups, record, onClose }: ViewAsProps) {
  const isStarting = useSignal(false);
  async function start(signal: AbortSignal): Promise<void> {
    const headers = [...viewHeaders({ user, groups }), ['Content-Type', 'application/json']] as [string, string][];
    await call('api/kubernetes/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      ...{ method: 'POST', headers, body: JSON.stringify(review) },
    });
    signal.throwIfAborted();
    isStarting.value = true;
    startView({ user, groups, record, by: person.value?.name ?? '' });
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <Form action={t('view.as')} onSubmit={start} onCancel={onClose} isDisabled={isStarting.value}>
        <p>{t('view.what')}</p>
        <Facts
          of={[
            [t('view.user'), <code key="user">{user}</code>],
            [t('users.groups'), groups.length > 0 ? groups.join(', ') : t('users.noGroups')],
          ]}
        />
      </Form>
    </Dialog>
  );
}
