/**
 * Tells users who may list audits of the cluster that events are not kept: a notice on the page Activity, and a strip on the other pages. The
 * state is that of the replica that answers.
 */
import { TriangleAlert } from 'lucide';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { usePoll } from '../../api/poll';
import { href } from '../../app/router';
import { count, dateTime, t } from '../../text/text';
import { Icon } from '../../ui/icon';
import { Notice } from '../../ui/state';

interface Told {
  kind: 'bad' | 'warn' | 'info';
  text: string;
}

export function AuditState() {
  const told = useTold();
  return told ? <Notice kind={told.kind}>{told.text}</Notice> : null;
}

/** Strip below the header. */
export function AuditStrip() {
  const told = useTold();
  if (told === undefined) return null;
  return (
    <section class="own-access away" role={told.kind === 'bad' ? 'alert' : 'status'}>
      <p class="bad">
        <Icon of={TriangleAlert} />
        <span>{told.text}</span>
        <a href={href('/activity')}>{t('activity.title')}</a>
      </p>
    </section>
  );
}

function useTold(): Told | undefined {
  const load = useLoad('audit/status', (signal) => bodyOf(api.GET('/auth/v1/audit/status', { signal })));
  usePoll(load);
  if (load.error.value !== undefined && load.error.value.status !== 403) return { kind: 'bad', text: t('activity.state.unknown') };
  return load.data.value && toldOf(load.data.value);
}

function toldOf({ delivery, store, spool, reason = '', lost, lastLost, usage, checkpoints }: Schemas['AuditStatus']): Told | undefined {
  if (store === 'Unavailable' || spool === 'Unavailable')
    return { kind: 'bad', text: t(delivery === 'required' ? 'activity.state.refusing' : 'activity.state.away', { reason }) };
  if (checkpoints?.state === 'Refused')
    return { kind: 'bad', text: t('activity.state.contradicted', { reason: checkpoints.reason ?? '' }) };
  if (lastLost !== undefined) return { kind: 'bad', text: t('activity.state.lost', { count: lost, time: dateTime(lastLost) }) };
  if (usage?.isNearlyFull !== true) return undefined;
  const values = { used: mebibytes(usage.bytes), limit: mebibytes(usage.maxBytes), time: usage.oldest ? dateTime(usage.oldest) : '–' };
  return usage.whenFull === 'refuse'
    ? { kind: 'warn', text: t('activity.state.fullRefuses', values) }
    : { kind: 'info', text: t('activity.state.fullRemoves', values) };
}

const mebibytes = (bytes: number): string => count(Math.round(bytes / 2 ** 20));
