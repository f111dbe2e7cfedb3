import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { may } from '../../app/rights';
import { person } from '../../app/session';
import { dateTime, t, tOf } from '../../text/text';
import { Ago } from '../../ui/age';
import { Facts } from '../../ui/facts';
import { GroupLinks } from '../../ui/group-links';
import { PhaseOf } from '../../ui/phase';
import { sourceOf } from '../users/columns';
import { Federation } from './federation';

const timeOf = (time: string | undefined) =>
  time && (
    <>
      {dateTime(time)}{' '}
      <span class="muted">
        (<Ago since={time} />)
      </span>
    </>
  );

/** Returns all groups of the user. Local groups are known only to a caller who may see the user's roles. */
function useGroups({ metadata: { name }, status }: Schemas['User']) {
  const isKnown = person.value?.ext.user === name || may({ verb: 'get', resource: 'users', subresource: 'roles', name }) === true;
  const load = useLoad(isKnown ? `roles/groups/${name}` : undefined, (signal) =>
    bodyOf(api.GET('/auth/v1/usersroles', { params: { query: { name, limit: 1 } }, signal })),
  );
  const all = load.data.value?.user.groups;
  return { groups: all ?? status?.groups ?? [], isWhole: all !== undefined || (isKnown && load.error.value === undefined) };
}

/** Groups of a local user that are not local come with the token: this console is not their source. */
const externalSourceOf = ({ spec }: Schemas['User']): string | undefined =>
  ['', 'local'].includes(spec.connector_type ?? '') ? undefined : sourceOf(spec);

function useGroupFacts(user: Schemas['User']) {
  const { groups, isWhole } = useGroups(user);
  return [
    [t('users.groups'), groups.length > 0 && <GroupLinks key="groups" names={groups} source={externalSourceOf(user)} />],
    [t('user.localGroups'), !isWhole && t('user.groupsUnknown')],
  ] as const;
}

/** Explains unmet conditions in words, without duplicates. The state already shows its own reason. */
function whyOf({ status }: Schemas['User']) {
  const unmet = (status?.conditions ?? []).filter(({ type, status: met }) => type !== 'Ready' && met === 'False');
  const further = unmet.filter(({ reason }) => reason !== status?.reason).map(({ reason }) => tOf('user.condition', reason));
  const texts = new Set([...(status?.phase !== 'Normal' && status?.message ? [status.message] : []), ...further]);
  return texts.size > 0 && [...texts].map((text) => <p key={text}>{text}</p>);
}

export function Profile({ user }: { user: Schemas['User'] }) {
  const { metadata, spec, status } = user;
  return (
    <div class="cards">
      <section class="card" aria-labelledby="account-title">
        <h2 id="account-title">{t('user.account')}</h2>
        <Facts
          of={[
            [t('users.email'), spec.email],
            [t('users.phase'), <PhaseOf key="phase" user={user} />],
            [t('user.why'), whyOf(user)],
            [t('users.source'), sourceOf(spec)],
            [t('user.administrator'), spec.is_admin && t('user.administratorWhat')],
            [t('overview.inKubernetes'), status?.subjectName && <code>{status.subjectName}</code>],
            ...useGroupFacts(user),
            [t('user.notices'), spec.mail],
            [t('user.mobile'), spec.mobile],
          ]}
        />
      </section>
      <Federation user={user} />
      <section class="card" aria-labelledby="times-title">
        <h2 id="times-title">{t('user.times')}</h2>
        <Facts
          of={[
            [t('user.created'), timeOf(metadata.creationTimestamp)],
            [t('users.lastLogin'), timeOf(status?.lastLoginTime) ?? <span class="muted">{t('users.never')}</span>],
            [t('user.passwordChanged'), timeOf(status?.passwordChangedTime)],
            [t('user.passwordDue'), status?.mustChangePassword && t('user.passwordDueWhat')],
            [t('user.validFrom'), timeOf(spec.expired?.begin)],
            [t('user.validUntil'), timeOf(spec.expired?.end)],
            [t('user.lockedUntil'), status?.phase === 'Locked' && timeOf(status.lockedUntil)],
            [t('user.failedLogins'), status?.failedLogins || undefined],
            [t('user.synchronised'), timeOf(status?.lastSyncTime)],
          ]}
        />
      </section>
    </div>
  );
}
