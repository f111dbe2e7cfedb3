import { typedText } from '@atrium/objects/typed-text.ts';
import { useSignal } from '@preact/signals';
import { CircleSlash, Ellipsis, KeyRound, Link2, Link2Off, LockOpen, Pencil, Trash2 } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch, useLoad } from '../../api/load';
import { makePassword } from '../../api/new-password';
import { sealed } from '../../api/password';
import { asProblem } from '../../api/problem';
import { useFeatures } from '../../api/version';
import { OwnPassword } from '../../app/own-password';
import { may, useRights } from '../../app/rights';
import { navigate } from '../../app/router';
import { person } from '../../app/session';
import { ViewAs, viewItem, viewRights } from '../../app/view-as';
import { guarded } from '../../app/why';
import { itemsOf, usePluginActions } from '../../plugins/actions';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Copy } from '../../ui/copy';
import { Dialog, LastLine } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { Loaded } from '../../ui/loaded';
import { Menu, type MenuItem } from '../../ui/menu';
import { toast } from '../../ui/toast';
import { refOfUser } from '../users/query';
import { setDisabled } from '../users/writes';
import { DisableUser } from './disable';
import { EditUser } from './edit';
import { EndLinks, linkKindsFor, linkRights, MakeLink } from './link';

type User = Schemas['User'];
type Open = 'view' | 'edit' | 'disable' | 'reset' | 'own' | 'link' | 'endLinks' | 'delete' | undefined;

interface Offered {
  user: User;
  show: (what: Open) => () => void;
  enable: () => void;
}

/** User name in Kubernetes. A user who never logged in has none yet. */
const subjectOf = ({ spec, status }: User): string => status?.subjectName || spec.email;

const patchRight = (name: string) => ({ verb: 'patch', resource: 'users', name });
const isOwn = ({ metadata }: User) => person.value?.ext.user === metadata.name;
/** Users need no right to change their own record. */
const mayEdit = (user: User) => isOwn(user) || may(patchRight(user.metadata.name)) === true;

/** Returns the items about the account of a user: its name, its state and its password. */
function accountItems({ user, show, enable }: Offered): MenuItem[] {
  const { name } = user.metadata;
  const [patch, isLocal] = [patchRight(name), ['', 'local'].includes(user.spec.connector_id)];
  const password = { verb: 'update', resource: 'users', subresource: 'password', name };
  return [
    ...(mayEdit(user) || may(patch) === undefined ? [] : [guarded([patch], { label: t('user.edit'), icon: Pencil, act: show('edit') })]),
    user.status?.phase === 'Normal'
      ? guarded([patch], { label: t('user.disable'), icon: CircleSlash, act: show('disable') })
      : guarded([patch], { label: enableLabel(user), icon: LockOpen, act: enable }),
    ...(isLocal && isOwn(user) ? [{ label: t('password.change'), icon: KeyRound, act: show('own') }] : []),
    ...(isLocal && !isOwn(user) ? [guarded([password], { label: t('user.reset'), icon: KeyRound, act: show('reset') })] : []),
  ];
}

const linkItems = ({ user: { metadata }, show }: Offered): MenuItem[] => [
  guarded(linkRights(metadata.name).make, { label: t('links.makeOne'), icon: Link2, act: show('link') }),
  guarded(linkRights(metadata.name).end, { label: t('links.end'), icon: Link2Off, act: show('endLinks') }),
];

function useItems(offered: Offered): MenuItem[] {
  const { user, show } = offered;
  const mayHaveLink = useFeatures()('links') && !isOwn(user) && linkKindsFor(user).length > 0;
  const added = usePluginActions('auth.platform.io', 'users');
  const subject = subjectOf(user);
  useRights(viewRights('user', subject));
  return [
    ...accountItems(offered),
    ...(isOwn(user) ? [] : [viewItem('user', subject, show('view'))]),
    ...(mayHaveLink ? linkItems(offered) : []),
    ...itemsOf(added, refOfUser(user)),
    guarded([{ verb: 'delete', resource: 'users', name: user.metadata.name }], {
      ...{ label: t('user.delete'), icon: Trash2, act: show('delete') },
      ...{ isDanger: true, isApart: true },
    }),
  ];
}

/** Menu of the actions on a user. */
export function UserActions({ user }: { user: User }) {
  const open = useSignal<Open>(undefined);
  const { name } = user.metadata;
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
  const items = useItems({ user, show, enable: () => void change(false) });
  async function disable(): Promise<void> {
    await change(true);
    open.value = undefined;
  }
  return (
    <div class="buttons">
      {mayEdit(user) && (
        <Button icon={Pencil} onClick={show('edit')}>
          {t('user.edit')}
        </Button>
      )}
      <Menu label={t('action.more')} icon={Ellipsis} items={items} kind="plain" />
      <OpenDialog open={open.value} user={user} onClose={show(undefined)} onDisable={disable} />
    </div>
  );
}

interface OpenDialogProps {
  open: Open;
  user: User;
  onClose: () => void;
  onDisable: () => Promise<void>;
}

function OpenDialog({ open, user, onClose, onDisable }: OpenDialogProps) {
  if (open === 'view') return <ViewAsUser user={user} onClose={onClose} />;
  if (open === 'edit') return <EditUser user={user} onClose={onClose} />;
  if (open === 'reset') return <ResetPassword user={user} onClose={onClose} />;
  if (open === 'link') return <MakeLink user={user} onClose={onClose} />;
  if (open === 'endLinks') return <EndLinks user={user} onClose={onClose} />;
  if (open === 'disable') return <DisableUser user={user} onClose={onClose} onConfirm={onDisable} />;
  if (open === 'delete') return <DeleteUser user={user} onClose={onClose} />;
  if (open === undefined) return null;
  const done = () => {
    onClose();
    toast('ok', t('password.changed'));
  };
  return (
    <Dialog title={t('password.change')} onClose={onClose}>
      <OwnPassword onCancel={onClose} onDone={done} />
    </Dialog>
  );
}

/** Dialog that views the cluster as a user, with the groups that Kubernetes sees. */
function ViewAsUser({ user, onClose }: ActionProps) {
  const { name } = user.metadata;
  const load = useLoad(`roles/groups/${name}`, (signal) =>
    bodyOf(api.GET('/auth/v1/usersroles', { params: { query: { name, limit: 1 } }, signal })),
  );
  const title = t('view.asOf', { name: called(user) });
  const found = load.data.value?.user;
  if (found)
    return <ViewAs title={title} user={found.subjectName || subjectOf(user)} groups={found.groups} record={name} onClose={onClose} />;
  return (
    <Dialog title={title} onClose={onClose}>
      <Loaded load={load}>{() => null}</Loaded>
    </Dialog>
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
  async function reset(signal: AbortSignal): Promise<void> {
    const path = { name: user.metadata.name };
    const spec = { password: await sealed(password.value) };
    signal.throwIfAborted();
    await api.PATCH('/auth/v1/users/{name}', { params: { path }, body: { spec } });
    isDone.value = true;
    await refetch(`user/${path.name}`);
  }
  return (
    <Dialog title={t('user.resetOf', { name: called(user) })} onClose={onClose}>
      {isDone.value ? (
        <>
          <p>{t('user.resetDone')}</p>
          <Copy text={password.value} label={t('users.password')} />
          <LastLine onClose={onClose} isDone />
        </>
      ) : (
        <Form isShownOnce action={t('user.reset')} kind="danger" onSubmit={reset} onCancel={onClose}>
          <p>{t('user.resetWhat')}</p>
          <Field label={t('users.password')} name="spec.password" value={password} isCode isExact isRequired />
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
        isDisabled={typedText(typed.value).toLowerCase() !== user.spec.email.toLowerCase()}
      >
        <p>{t('user.deleteWhat')}</p>
        <Field label={t('user.deleteType', { email: user.spec.email })} name="name" value={typed} />
      </Form>
    </Dialog>
  );
}
