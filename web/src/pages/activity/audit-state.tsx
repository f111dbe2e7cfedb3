/** Notice while events are not kept. For users who may list audits of the cluster; the state is that of the replica that answers. */
import { api, bodyOf } from '../../api/client';
import { useLoad } from '../../api/load';
import { usePoll } from '../../api/poll';
import { count, dateTime, t } from '../../text/text';
import { Notice } from '../../ui/state';

/** Age at which a loss of events is no longer told. */
const lossMs = 86_400_000;

export function AuditState() {
  const load = useLoad('audit/status', (signal) => bodyOf(api.GET('/auth/v1/audit/status', { signal })));
  usePoll(load);
  const state = load.data.value;
  if (load.error.value !== undefined && load.error.value.status !== 403) return <Notice kind="bad">{t('activity.state.unknown')}</Notice>;
  if (state === undefined) return null;
  const { delivery, store, spool, reason = '', lost, lastLost, usage } = state;
  if (store === 'Unavailable' || spool === 'Unavailable')
    return <Notice kind="bad">{t(delivery === 'required' ? 'activity.state.refusing' : 'activity.state.away', { reason })}</Notice>;
  if (lastLost !== undefined && Date.now() - Date.parse(lastLost) <= lossMs)
    return <Notice kind="bad">{t('activity.state.lost', { count: lost, time: dateTime(lastLost) })}</Notice>;
  if (usage?.isNearlyFull !== true) return null;
  const values = { used: mebibytes(usage.bytes), limit: mebibytes(usage.maxBytes), time: usage.oldest ? dateTime(usage.oldest) : '–' };
  return usage.whenFull === 'refuse' ? (
    <Notice kind="warn">{t('activity.state.fullRefuses', values)}</Notice>
  ) : (
    <Notice kind="info">{t('activity.state.fullRemoves', values)}</Notice>
  );
}

const mebibytes = (bytes: number): string => count(Math.round(bytes / 2 ** 20));
