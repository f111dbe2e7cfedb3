import type { Schemas } from '../../api/client';
import { dateTime, relative, t, tOf } from '../../text/text';
import { Facts } from '../../ui/facts';
import { PhaseOf } from '../../ui/phase';
import { sourceOf } from '../users/columns';

const timeOf = (time: string | undefined) =>
  time && (
    <time dateTime={time}>
      {dateTime(time)} <span class="muted">({relative(time)})</span>
    </time>
  );

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
            [t('user.why'), status?.phase !== 'Normal' && status?.message],
            [t('users.source'), sourceOf(spec)],
            [t('user.administrator'), spec.is_admin && t('user.administratorWhat')],
            [t('overview.inKubernetes'), status?.subjectName && <code>{status.subjectName}</code>],
            [t('users.groups'), status?.groups && status.groups.length > 0 && status.groups.join(', ')],
            [t('user.notices'), spec.mail],
            [t('user.mobile'), spec.mobile],
          ]}
        />
      </section>
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
      {status?.conditions?.some(({ status: state }) => state === 'False') && (
        <section class="card" aria-labelledby="conditions-title">
          <h2 id="conditions-title">{t('user.conditions')}</h2>
          <Facts
            of={status.conditions
              .filter(({ status: state }) => state === 'False')
              .map(({ type, message, reason }) => [type, message || tOf('reason', reason)] as const)}
          />
        </section>
      )}
    </div>
  );
}
