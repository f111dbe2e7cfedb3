import { typedText } from '@atrium/objects/typed-text.ts';
import { useSignal } from '@preact/signals';
import { Eye, Puzzle, Trash2, UserPlus } from 'lucide';
import { useEffect } from 'preact/hooks';
import { api, bodyOf, type Schemas } from '../../api/client';
import { refetch, useLoad } from '../../api/load';
import { groupViewer } from '../../api/view';
import { pluginTabs } from '../../app/extensions';
import { Guarded } from '../../app/guarded';
import type { PageProps } from '../../app/page-props';
import { RefusedMenu } from '../../app/refused-menu';
import { may, useRights } from '../../app/rights';
import { href, navigate } from '../../app/router';
import { SimulateLink } from '../../app/simulation';
import { ViewAs, viewRights } from '../../app/view-as';
import { allowedOf, usePluginActions } from '../../plugins/actions';
import { PluginTab } from '../../plugins/tab';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { Dialog } from '../../ui/dialog';
import { Field, Form } from '../../ui/form';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty, Notice } from '../../ui/state';
import { Tabs } from '../../ui/tabs';
import { toast } from '../../ui/toast';
import { ActivityLink } from '../activity/activity-link';
import { awaitsEmails, type Member, membersOf } from './members.ts';

type Open = 'add' | 'view' | 'delete' | Member | undefined;

const rightsOf = (name: string) => ({
  get: { verb: 'get', resource: 'groups', name },
  patch: { verb: 'patch', resource: 'groups', name },
  remove: { verb: 'delete', resource: 'groups', name },
  /** Members receive the permissions of the group. */
  members: { verb: 'impersonate', group: '', resource: 'groups', name: `local:${name}` },
});

const refOf = ({ metadata: { name, uid } }: Schemas['Group']) => ({
  group: 'auth.platform.io',
  version: 'v1',
  resource: 'groups',
  name,
  uid,
});

export function Page({ params: { name = '', tab = 'members' } }: PageProps) {
  const rights = rightsOf(name);
  useRights(Object.values(rights));
  return (
    <Guarded right={rights.get} title={name}>
      <OneGroup name={name} tab={tab} />
    </Guarded>
  );
}

function OneGroup({ name, tab }: { name: string; tab: string }) {
  const rights = rightsOf(name);
  const open = useSignal<Open>(undefined);
  const close = () => {
    open.value = undefined;
  };
  const show = (what: Open) => () => {
    open.value = what;
  };
  const load = useLoad(`groups/${name}`, (signal) => bodyOf(api.GET('/auth/v1/groups/{name}', { params: { path: { name } }, signal })));
  const added = pluginTabs('auth.platform.io', 'groups');
  useEffect(() => {
    if (load.data.value === undefined || !awaitsEmails(load.data.value)) return;
    const timer = setTimeout(() => void load.reload(), 1000);
    return () => clearTimeout(timer);
  }, [load.data.value]);
  const isLocal = isOfConsole(load.data.value);
  const mayChange = mayChangeMembers(name, load.data.value);
  return (
    <section class="page">
      <p class="crumb">
        <a href={href('/groups')}>{t('groups.title')}</a>
      </p>
      <Head name={name} group={load.data.value} show={show} />
      {load.data.value?.spec.description && <p class="measure">{load.data.value.spec.description}</p>}
      <GroupHistory name={name} group={load.data.value} />
      {!isLocal && <Notice kind="info">{t('groups.ofIssuer')}</Notice>}
      {isLocal && may(rights.patch) === true && may(rights.members) === false && (
        <Notice kind="info">{t('groups.mayNot', { name })}</Notice>
      )}
      {added.length > 0 && (
        <Tabs
          label={name}
          tabs={[{ id: 'members', label: t('groups.members') }, ...added.map(({ id, label }) => ({ id, label: label() }))]}
          current={tab}
          to={(id) => `/groups/${name}${id === 'members' ? '' : `/${id}`}`}
        />
      )}
      {load.data.value && <PluginTab id={tab} of={refOf(load.data.value)} />}
      <Loaded load={load}>
        {(group: Schemas['Group']) =>
          tab === 'members' && <Members members={membersOf(group)} onRemove={mayChange ? (member) => show(member)() : undefined} />
        }
      </Loaded>
      {open.value === 'add' && <AddMember group={name} onClose={close} />}
      {open.value === 'view' && (
        <ViewAs title={t('view.asOf', { name })} user={groupViewer} groups={[subjectOf(name, load.data.value)]} onClose={close} />
      )}
      {open.value === 'delete' && <DeleteGroup name={name} onClose={close} />}
      {typeof open.value === 'object' && <RemoveMember group={name} member={open.value} onClose={close} />}
    </section>
  );
}

interface HeadProps {
  name: string;
  group: Schemas['Group'] | undefined;
  show: (what: Open) => () => void;
}

const isOfConsole = (group: Schemas['Group'] | undefined) => group?.spec.refConnector === undefined;

/** Name of the group in Kubernetes. */
const subjectOf = (name: string, group: Schemas['Group'] | undefined) => (isOfConsole(group) ? `local:${name}` : name);

/** Reports whether the caller may add members to a local group, which requires the permissions of the group. */
const mayChangeMembers = (name: string, group: Schemas['Group'] | undefined) =>
  isOfConsole(group) && may(rightsOf(name).patch) === true && may(rightsOf(name).members) === true;

function Head({ name, group, show }: HeadProps) {
  const rights = rightsOf(name);
  const subject = subjectOf(name, group);
  const viewers = [viewRights('group', subject), viewRights('user', groupViewer)];
  useRights(viewers.flat());
  const mayView = [0, 1].some((verb) => viewers.every((rights) => rights[verb] && may(rights[verb]) === true));
  const view = { rights: viewers.map(([impersonate]) => impersonate), label: t('view.as'), icon: Eye };
  const add = { rights: [rights.patch, rights.members], label: t('groups.add'), icon: UserPlus };
  return (
    <header class="page-head">
      <h1 tabIndex={-1}>{group?.spec.displayName || name}</h1>
      <code>{subject}</code>
      <div class="buttons">
        {mayChangeMembers(name, group) && (
          <Button kind="main" icon={UserPlus} onClick={show('add')}>
            {t('groups.add')}
          </Button>
        )}
        {isOfConsole(group) && <SimulateLink of={{ type: 'member', group: name }} />}
        {mayView && (
          <Button icon={Eye} onClick={show('view')}>
            {t('view.as')}
          </Button>
        )}
        {may(rights.remove) && (
          <Button kind="danger" icon={Trash2} onClick={show('delete')}>
            {t('user.delete')}
          </Button>
        )}
        <GroupPlugins group={group} />
        <RefusedMenu
          of={[
            ...(isOfConsole(group) ? [add] : []),
            ...(mayView ? [] : [view]),
            { rights: [rights.remove], label: t('user.delete'), icon: Trash2 },
          ]}
        />
      </div>
    </header>
  );
}

/** Links to the changes of a group, and to what its members did. */
const GroupHistory = ({ name, group }: Pick<HeadProps, 'name' | 'group'>) => (
  <p class="buttons">
    <ActivityLink of={{ kind: 'groups.auth.platform.io', name, since: 'all' }}>{t('activity.onObject')}</ActivityLink>
    <ActivityLink of={{ actorGroup: subjectOf(name, group), since: 'all' }}>{t('activity.ofMembers')}</ActivityLink>
  </p>
);

/** Actions of plugins, which are buttons here as the others are. */
function GroupPlugins({ group }: Pick<HeadProps, 'group'>) {
  const added = allowedOf(usePluginActions('auth.platform.io', 'groups'));
  if (group === undefined) return null;
  return added.map(({ label, run }) => (
    <Button key={label} icon={Puzzle} onClick={() => run([refOf(group)])}>
      {label}
    </Button>
  ));
}

function Members({ members, onRemove }: { members: readonly Member[]; onRemove: ((member: Member) => void) | undefined }) {
  if (members.length === 0) return <Empty text={t('groups.noMembers')} />;
  const remove = (member: Member) => (
    <Button kind="quiet" onClick={() => onRemove?.(member)}>
      {t('groups.remove')}
    </Button>
  );
  return (
    <PlainTable
      label={t('groups.members')}
      rows={members}
      idOf={({ name }) => name}
      columns={[
        { title: t('users.email'), cell: ({ name, email }) => <a href={href(`/users/${name}`)}>{email || name}</a> },
        ...(onRemove ? [{ title: '', cell: remove }] : []),
      ]}
    />
  );
}

/** @throws Error with the reason for which the one name failed */
function check({ items }: Schemas['GroupMembersResult']): void {
  const failed = items.find(({ status }) => status === 'Failure');
  if (failed) throw new Error(failed.message ?? failed.reason);
}

function DeleteGroup({ name, onClose }: { name: string; onClose: () => void }) {
  async function remove(): Promise<void> {
    await api.DELETE('/auth/v1/groups/{name}', { params: { path: { name } } });
    toast('ok', t('groups.deleted', { name }));
    navigate('/groups');
  }
  return (
    <Confirm title={t('groups.delete', { name })} onClose={onClose} onConfirm={remove}>
      <p>{t('groups.deleteWhat')}</p>
    </Confirm>
  );
}

function RemoveMember({ group, member, onClose }: { group: string; member: Member; onClose: () => void }) {
  async function remove(): Promise<void> {
    const parameters = { params: { path: { name: group } }, body: { names: [member.name] } };
    check(await bodyOf(api.DELETE('/auth/v1/groups/{name}/members', parameters)));
    await refetch('groups');
    onClose();
  }
  return (
    <Confirm title={t('groups.removeOf', { name: member.email || member.name })} onConfirm={remove} onClose={onClose}>
      <p>{t('groups.removeWhat')}</p>
    </Confirm>
  );
}

function AddMember({ group, onClose }: { group: string; onClose: () => void }) {
  const email = useSignal('');
  const found = useLoad(`users/find/${email.value}`, (signal) =>
    bodyOf(api.GET('/auth/v2/users', { params: { query: { search: email.value, limit: 10 } }, signal })).then(({ items }) => items),
  );
  async function add(signal: AbortSignal): Promise<void> {
    const { items } = await bodyOf(api.GET('/auth/v2/users', { params: { query: { search: email.value, limit: 10 } }, signal }));
    signal.throwIfAborted();
    const user = items.find(({ spec }) => spec.email.toLowerCase() === typedText(email.value).toLowerCase());
    if (user === undefined) throw new Error(t('groups.noSuchUser'));
    const parameters = { params: { path: { name: group } }, body: { names: [user.metadata.name] } };
    check(await bodyOf(api.POST('/auth/v1/groups/{name}/members', parameters)));
    await refetch('groups');
    toast('ok', t('groups.added', { name: user.spec.email }));
    onClose();
  }
  return (
    <Dialog title={t('groups.add')} onClose={onClose}>
      <Form action={t('groups.add')} onSubmit={add} onCancel={onClose}>
        <Field
          label={t('users.email')}
          name="names[0]"
          value={email}
          isRequired
          suggestions={found.data.value?.map(({ spec }) => ({ value: spec.email, label: spec.username })) ?? []}
        />
      </Form>
    </Dialog>
  );
}
