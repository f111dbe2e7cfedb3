import { useSignal } from '@preact/signals';
import { KeyRound, ShieldCheck } from 'lucide';
import { api, bodyOf } from '../../api/client';
import { fetchKinds } from '../../api/kinds';
import { type Load, useLoad } from '../../api/load';
import { useFeatures, useVersion } from '../../api/version';
import { type View, viewed } from '../../api/view';
import { may, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { endOf, type Person, person } from '../../app/session';
import { count, dateTime, loadTexts, t } from '../../text/text';
import { Button, LinkButton } from '../../ui/button';
import { Dialog } from '../../ui/dialog';
import { Facts } from '../../ui/facts';
import { Loaded } from '../../ui/loaded';
import { phaseName, phases } from '../../ui/phase';
import { toast } from '../../ui/toast';
import { ClusterUsagePlace } from './cluster-usage-place';
import { Due } from './due';
import { type Figure, lockedUsers, usersIn } from './figures';
import { NotReadyWorkloads, Unknown } from './not-ready';
import { Tiles, wordsOf } from './tiles';

const listRight = { verb: 'list', resource: 'users' };

/** Reports whether the console changes the password and the second factors of the caller. */
const isLocal = ({ ext }: Person): boolean => ext.user !== undefined && ['', 'local'].includes(ext.connector_id ?? '');

export function Page() {
  useRights([listRight]);
  const discovery = useLoad('kinds', fetchKinds);
  const kinds = discovery.data.value;
  const view = viewed.value;
  // Users are counted for the caller alone.
  const mayCount = view === undefined && may(listRight) === true;
  const locked = useLoad(mayCount ? 'overview/locked' : undefined, lockedUsers);
  const isShown = useSignal(false);
  const who = person.value;
  if (!who) return null;
  const { ext } = who;
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{view ? t('overview.title') : t('overview.hello', { name: ext.display_name || who.name })}</h1>
      </header>
      <Tiles kinds={kinds} locked={locked} />
      <div class="cards">
        {kinds && <NotReadyWorkloads kinds={kinds} onShown={() => (isShown.value = true)} />}
        {!kinds && discovery.error.value && <Unknown load={discovery} />}
        {view ? <ViewedUser of={view} /> : <OwnAccount of={who} />}
        {!view && <Due user={isLocal(who) ? (ext.user ?? '') : ''} />}
        {view ? view.record && <RolesOf record={view.record} /> : ext.user && <RolesOf />}
        {mayCount && <Counts locked={locked} />}
      </div>
      {isShown.value && <ClusterUsagePlace />}
      <Versions />
    </section>
  );
}

/** Shows the user whose view of the cluster this tab has. */
const ViewedUser = ({ of: { user, groups } }: { of: View }) => (
  <section class="card" aria-labelledby="who-title">
    <h2 id="who-title">{t('view.user')}</h2>
    <Facts
      of={[
        [t('overview.inKubernetes'), <code key="name">{user}</code>],
        [t('users.groups'), groups.join(', ') || t('users.noGroups')],
      ]}
    />
  </section>
);

/** Shows the caller's account, and the way to its password and second factors. */
function OwnAccount({ of: who }: { of: Person }) {
  const isOpen = useSignal(false);
  const isOn = useFeatures();
  const sessionEnd = useLoad(isOn('sessions') ? 'sessions/end' : undefined, endOfSession);
  const { ext } = who;
  return (
    <>
      <section class="card" aria-labelledby="who-title">
        <h2 id="who-title">{t('overview.who')}</h2>
        <Facts
          of={[
            [t('users.name'), ext.display_name],
            [t('overview.inKubernetes'), <code key="name">{who.name}</code>],
            [t('users.email'), who.email],
            [t('users.groups'), who.groups.join(', ')],
            [t('overview.until'), isOn('sessions') && (sessionEnd.data.value ?? t('phase.Unknown'))],
          ]}
        />
        {isLocal(who) && (
          <div class="buttons">
            <Button
              icon={KeyRound}
              onClick={() => {
                isOpen.value = true;
              }}
            >
              {t('password.change')}
            </Button>
            {isOn('factors') && (
              <LinkButton to={`/users/${ext.user}/factors`} icon={ShieldCheck}>
                {t('factors.title')}
              </LinkButton>
            )}
          </div>
        )}
      </section>
      {isOpen.value && (
        <ChangePassword
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}

/** Loads the form when it is opened. The overview has no other. */
function ChangePassword({ onClose }: { onClose: () => void }) {
  const load = useLoad('own password', async () => (await Promise.all([import('../../app/own-password'), loadTexts('overlays')]))[0]);
  const onDone = () => {
    onClose();
    toast('ok', t('password.changed'));
  };
  return (
    <Dialog title={t('password.change')} onClose={onClose}>
      <Loaded load={load}>{({ OwnPassword }) => <OwnPassword onCancel={onClose} onDone={onDone} />}</Loaded>
    </Dialog>
  );
}

/** Returns when this session ends. Its token, which is renewed, expires sooner. */
async function endOfSession(signal: AbortSignal): Promise<string> {
  const { items } = await bodyOf(api.GET('/auth/v1/sessions', { params: { query: { limit: 200 } }, signal }));
  const current = items.find((session) => session.current);
  return current ? dateTime(endOf(current)) : '';
}

/** Shows the roles that bindings grant to the caller or to the user of a record, by place. */
function RolesOf({ record }: { record?: string }) {
  const query = record === undefined ? {} : { name: record };
  const load = useLoad(`roles/of/${record ?? ''}`, (signal) => bodyOf(api.GET('/auth/v1/usersroles', { params: { query }, signal })));
  return (
    <section class="card" aria-labelledby="roles-title">
      <h2 id="roles-title">{t(record ? 'user.roles' : 'overview.roles')}</h2>
      <Loaded load={load}>
        {({ items }) => {
          const places = Map.groupBy(items, ({ namespace }) => namespace);
          return items.length === 0 ? (
            <>
              <p>{t(record ? 'roles.none' : 'overview.noRoles')}</p>
              <p>
                <a href={href('/access')}>{t('state.myAccess')}</a>
              </p>
            </>
          ) : (
            <Facts
              of={[...places].map(([namespace, roles]) => [
                namespace || t('roles.everywhere'),
                [...new Set(roles.map(({ role }) => role))].join(', '),
              ])}
            />
          );
        }}
      </Loaded>
    </section>
  );
}

/** Shows the number of users in each phase. */
function Counts({ locked }: { locked: Load<Figure> }) {
  const load = useLoad('users/counts', async (signal) => {
    const others = phases.filter((phase) => phase !== 'Locked');
    return new Map(await Promise.all(others.map(async (phase) => [phase as string, (await usersIn(phase, signal)).count] as const)));
  });
  return (
    <section class="card" aria-labelledby="counts-title">
      <h2 id="counts-title">{t('users.title')}</h2>
      <Loaded load={load}>
        {(counts) => (
          <Facts
            of={phases.map((phase) => [
              phaseName(phase),
              <a key={phase} href={href(`/users?phase=${phase}`)}>
                {phase === 'Locked' ? wordsOf(locked) : count(counts.get(phase) ?? 0)}
              </a>,
            ])}
          />
        )}
      </Loaded>
    </section>
  );
}

/** Shows the version of the service. Its features are on the page About. */
function Versions() {
  const { version } = useVersion().data.value ?? {};
  return (
    version !== undefined && (
      <p class="muted">
        <a href={href('/about')}>{t('overview.version', { version })}</a>
      </p>
    )
  );
}
