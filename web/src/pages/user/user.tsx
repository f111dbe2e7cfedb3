import { KeyRound, LogOut } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { useFeatures } from '../../api/version';
import { pluginTabs } from '../../app/extensions';
import { Guarded } from '../../app/guarded';
import type { PageProps } from '../../app/page-props';
import { RefusedMenu } from '../../app/refused-menu';
import { may, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { person } from '../../app/session';
import { PluginTab } from '../../plugins/tab';
import { t } from '../../text/text';
import { PhaseOf } from '../../ui/phase';
import { Failure, Old, Skeleton } from '../../ui/state';
import { Tabs } from '../../ui/tabs';
import { SessionList } from '../sessions/session-list';
import { TokenList } from '../tokens/token-list';
import { refOfUser } from '../users/query';
import { Accounts } from './accounts';
import { UserActions } from './actions';
import { Factors, factorRights } from './factors';
import { History, historyRights } from './history';
import { linkRights } from './link';
import { Profile } from './profile';
import { Roles } from './roles';

const rightsOf = (name: string) => [
  { verb: 'get', resource: 'users', name },
  { verb: 'patch', resource: 'users', name },
  { verb: 'delete', resource: 'users', name },
  { verb: 'update', resource: 'users', subresource: 'password', name },
  { verb: 'get', resource: 'users', subresource: 'roles', name },
];

export function Page({ params: { name = '', tab = 'profile' } }: PageProps) {
  useRights([
    ...rightsOf(name),
    ...Object.values(sessionRights),
    ...Object.values(tokenRights),
    ...Object.values(factorRights(name)),
    ...Object.values(linkRights(name)).flat(),
    ...historyRights,
  ]);
  return (
    <Guarded right={{ verb: 'get', resource: 'users', name }} isSelf={isSelf(name)} title={t('users.title')}>
      <OneUser name={name} tab={tab} />
    </Guarded>
  );
}

const sessionRights = { list: { verb: 'list', resource: 'sessions' }, remove: { verb: 'delete', resource: 'sessions' } };
const tokenRights = { list: { verb: 'list', resource: 'accesstokens' }, remove: { verb: 'delete', resource: 'accesstokens' } };

/** The embedded issuer asks for second factors; other issuers have their own. */
const isLocal = ({ spec }: Schemas['User']) => ['', 'local'].includes(spec.connector_id);

const isSelf = (name: string) => person.value?.ext.user === name;

function useTabs(user: Schemas['User'] | undefined) {
  const issuers = useLoad('issuers', (signal) => bodyOf(api.GET('/api/v2/token/issuers', { signal })));
  const isOn = useFeatures();
  const hasSeveral = (issuers.data.value?.items.length ?? 0) > 1;
  const isOwn = user !== undefined && isSelf(user.metadata.name);
  return [
    { id: 'profile', label: t('user.profile') },
    { id: 'roles', label: t('user.roles') },
    ...(isOn('sessions') ? [{ id: 'sessions', label: t('sessions.title') }] : []),
    ...(isOn('accessTokens') ? [{ id: 'tokens', label: t('tokens.title') }] : []),
    ...(isOn('factors') && user !== undefined && isLocal(user) ? [{ id: 'factors', label: t('factors.title') }] : []),
    ...(isOn('linkedAccounts') && isOwn && hasSeveral ? [{ id: 'accounts', label: t('accounts.title') }] : []),
    { id: 'history', label: t('user.history') },
    ...pluginTabs('auth.platform.io', 'users').map(({ id, label }) => ({ id, label: label() })),
  ];
}

function OneUser({ name, tab }: { name: string; tab: string }) {
  const load = useLoad(`user/${name}`, (signal) => bodyOf(api.GET('/auth/v1/users/{name}', { params: { path: { name } }, signal })));
  const tabs = useTabs(load.data.value);
  const user = load.data.value;
  const problem = load.error.value;
  if (user === undefined)
    return (
      <section class="page">
        <h1 tabIndex={-1} class="hidden">
          {t('users.title')}
        </h1>
        {problem ? <Failure problem={problem} onRetry={() => void load.reload()} /> : <Skeleton />}
      </section>
    );
  return (
    <section class="page">
      <p class="crumb">
        <a href={href('/users')}>{t('users.title')}</a>
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{user.spec.username || user.spec.email}</h1>
        <PhaseOf user={user} />
        <UserActions user={user} />
      </header>
      <Old problem={problem} onRetry={() => void load.reload()} />
      <Tabs
        label={user.spec.username || user.spec.email}
        tabs={tabs}
        current={tab}
        to={(id) => `/users/${name}${id === 'profile' ? '' : `/${id}`}`}
      />
      <TabContent tab={tab} user={user} />
    </section>
  );
}

function TabContent({ tab, user }: { tab: string; user: Schemas['User'] }) {
  const { name } = user.metadata;
  return (
    <>
      {tab === 'profile' && <Profile user={user} />}
      {tab === 'sessions' && (
        <Guarded right={sessionRights.list} isSelf={isSelf(name)}>
          <SessionList user={name} mayEnd={isSelf(name) || may(sessionRights.remove) === true} />
          {!isSelf(name) && <RefusedMenu of={[{ rights: [sessionRights.remove], label: t('sessions.end'), icon: LogOut }]} />}
        </Guarded>
      )}
      {tab === 'tokens' && (
        <Guarded right={tokenRights.list} isSelf={isSelf(name)}>
          <TokenList user={name} mayRevoke={isSelf(name) || may(tokenRights.remove) === true} />
          {!isSelf(name) && <RefusedMenu of={[{ rights: [tokenRights.remove], label: t('tokens.revoke'), icon: KeyRound }]} />}
        </Guarded>
      )}
      <PluginTab id={tab} of={refOfUser(user)} />
      {tab === 'roles' && (
        <Guarded right={{ verb: 'get', resource: 'users', subresource: 'roles', name }} isSelf={isSelf(name)}>
          <Roles user={user} />
        </Guarded>
      )}
      {tab === 'accounts' && isSelf(name) && <Accounts />}
      {tab === 'factors' && (
        <Guarded right={factorRights(name).get} isSelf={isSelf(name)}>
          <Factors user={user} />
        </Guarded>
      )}
      {tab === 'history' && <History user={user} isSelf={isSelf(name)} />}
    </>
  );
}
