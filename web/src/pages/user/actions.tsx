import { useSignal } from '@preact/signals';
import { CircleSlash, Ellipsis, KeyRound, Link2, Link2Off, LockOpen, Pencil, Puzzle, Trash2 } from 'lucide';
import { api, type Schemas } from '../../api/client';
import { refetch } from '../../api/load';
import { makePassword } from '../../api/new-password';
import { sealed } from '../../api/password';
import { asProblem } from '../../api/problem';
import { useFeatures } from '../../api/version';
import { OwnPassword } from '../../app/own-password';
import { may } from '../../app/rights';
import { navigate } from '../../app/router';
import { person } from '../../app/session';
import { guarded } from '../../app/why';
import { usePluginActions } from '../../plugins/actions';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Copy } from '../../ui/copy';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { Menu, type MenuItem } from '../../ui/menu';
import { toast } from '../../ui/toast';
import { refOfUser } from '../users/query';
import { setDisabled } from '../users/writes';
import { DisableUser } from './disable';
import { EditUser } from './edit';
import { EndLinks, linkKindsFor, linkRights, MakeLink } from './link';

type User = Schemas['User'];
type Open = 'edit' | 'disable' | 'reset' | 'own' | 'link' | 'endLinks' | 'delete' | undefined;

/** What may be done with one user. */
export function UserActions({ user }: { user: User }) {
  const open = useSignal<Open>(undefined);
  const { name } = user.metadata;
  const isSelf = person.value?.ext.user === name;
  const isLocal = ['', 'local'].includes(user.spec.connector_id);
  const patch = { verb: 'patch', resource: 'users', name };
  const close = () => {
    open.value = undefined;
  };
  const show = (what: Open) => () => {
    open.value = what;
  };
  async function change(isDisabled: boolean): Promise<void> {
    try {
      await setDisabled(name, isDisabled);
      await refetch(`user/${name}`);
      announce(user, isDisabled, () => void change(false));
    } catch (error) {
      toast('bad', asProblem(error).message);
    }
  }
  const mayHaveLink = useFeatures()('links') && !isSelf;
  const offered = usePluginActions('auth.platform.io', 'users');
  const isActive = user.status?.phase === 'Normal';
  // One's own name needs no right.
  const mayEdit = isSelf || may(patch) === true;
  const items: MenuItem[] = [
    ...(mayEdit || may(patch) === undefined ? [] : [guarded([patch], { label: t('user.edit'), icon: Pencil, act: show('edit') })]),
    isActive
      ? guarded([patch], { label: t('user.disable'), icon: CircleSlash, act: show('disable') })
      : guarded([patch], {
          label: enableLabel(user),
          icon: LockOpen,
          act: () => void change(false),
        }),
    ...(isLocal && isSelf ? [{ label: t('password.change'), icon: KeyRound, act: show('own') }] : []),
    ...(isLocal && !isSelf
      ? [
          guarded([{ verb: 'update', resource: 'users', subresource: 'password', name }], {
            label: t('user.reset'),
            icon: KeyRound,
            act: show('reset'),
          }),
        ]
      : []),
    ...(mayHaveLink && linkKindsFor(user).length > 0
      ? [
          guarded(linkRights(name).make, { label: t('links.makeOne'), icon: Link2, act: show('link') }),
          guarded(linkRights(name).end, { label: t('links.end'), icon: Link2Off, act: show('endLinks') }),
        ]
      : []),
    ...offered.map(({ label, run }): MenuItem => ({ label, icon: Puzzle, act: () => run([refOfUser(user)]) })),
    guarded([{ verb: 'delete', resource: 'users', name }], {
      label: t('user.delete'),
      icon: Trash2,
      isDanger: true,
      isApart: true,
      act: show('delete'),
    }),
  ];
  return (
    <div class="buttons">
      {mayEdit && (
        <Button icon={Pencil} onClick={show('edit')}>
          {t('user.edit')}
        </Button>
      )}
      <Menu label={t('action.more')} icon={Ellipsis} items={items} kind="plain" />
      {open.value === 'edit' && <EditUser user={user} onClose={close} />}
      {open.value === 'reset' && <ResetPassword user={user} onClose={close} />}
      {open.value === 'link' && <MakeLink user={user} onClose={close} />}
      {open.value === 'endLinks' && <EndLinks user={user} onClose={close} />}
      {open.value === 'disable' && (
        <DisableUser
          user={user}
          onClose={close}
          onConfirm={async () => {
            await change(true);
            close();
          }}
        />
      )}
      {open.value === 'delete' && <DeleteUser user={user} onClose={close} />}
      {open.value === 'own' && (
        <Dialog title={t('password.change')} onClose={close}>
          <OwnPassword
            onCancel={close}
            onDone={() => {
              close();
              toast('ok', t('password.changed'));
            }}
          />
        </Dialog>
      )}
    </div>
  );
}

const enableLabel = ({ status }: User): string => (status?.phase === 'Locked' ? t('user.unlock') : t('user.enable'));

function announce(user: User, isDisabled: boolean, undo: () => void): void {
  const name = called(user);
  if (isDisabled) toast('ok', t('user.disabledNow', { name }), { label: t('action.undo'), act: undo });
  else toast('ok', t('user.enabledNow', { name }));
}

const called = ({ spec }: User): string => spec.username || spec.email;

interface ActionProps {
  user: User;
  onClose: () => void;
}

function ResetPassword({ user, onClose }: ActionProps) {
  const password = useSignal(makePassword());
  const isDone = useSignal(false);
  async function reset(): Promise<void> {
    const path = { name: user.metadata.name };
    await api.PATCH('/auth/v1/users/{name}', { params: { path }, body: { spec: { password: await sealed(password.value) } } });
    isDone.value = true;
    await refetch(`user/${path.name}`);
  }
  return (
    <Dialog title={t('user.resetOf', { name: called(user) })} onClose={onClose}>
      {isDone.value ? (
        <>
          <p>{t('user.resetDone')}</p>
          <Copy text={password.value} label={t('users.password')} />
          <div class="buttons">
            <Button kind="main" onClick={onClose}>
              {t('action.done')}
            </Button>
          </div>
        </>
      ) : (
        <Form action={t('user.reset')} kind="danger" onSubmit={reset} onCancel={onClose}>
          <p>{t('user.resetWhat')}</p>
          <Field label={t('users.password')} name="spec.password" value={password} isCode isRequired />
        </Form>
      )}
    </Dialog>
  );
}

function DeleteUser({ user, onClose }: ActionProps) {
  const typed = useSignal('');
  const { name, uid } = user.metadata;
  async function remove(): Promise<void> {
    await api.DELETE('/auth/v1/users/{name}', { params: { path: { name } }, body: { preconditions: { uid } } });
    toast('ok', t('user.deletedNow', { name: called(user) }));
    navigate('/users');
  }
  return (
    <Dialog title={t('user.deleteOf', { name: called(user) })} onClose={onClose}>
      <Form
        action={t('user.deleteOf', { name: called(user) })}
        kind="danger"
        onSubmit={remove}
        onCancel={onClose}
        isDisabled={typed.value.trim().toLowerCase() !== user.spec.email.toLowerCase()}
      >
        <p>{t('user.deleteWhat')}</p>
        <Field label={t('user.deleteType', { email: user.spec.email })} name="name" value={typed} />
      </Form>
    </Dialog>
  );
}
