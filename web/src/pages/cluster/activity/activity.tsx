/** History of an object: sentences about the users who changed it. */
import { CircleAlert, CircleCheck, Info } from 'lucide';
import { api, bodyOf } from '../../../api/client';
import { type Kind, kindId } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import type { ClusterObject } from '../../../api/objects';
import { usePoll } from '../../../api/poll';
import { AskFor } from '../../../app/ask';
import { t } from '../../../text/text';
import { Ago } from '../../../ui/age';
import { Icon } from '../../../ui/icon';
import { Loaded } from '../../../ui/loaded';
import { PlainTable } from '../../../ui/plain-table';
import { Empty, FirstOnly } from '../../../ui/state';
import { type AuditEvent, hadEffect, sentenceOf } from './sentences';

const limit = 200;
const everyMs = 10_000;

export function Activity({ kind: { group, resource }, object: { metadata } }: { kind: Kind; object: ClusterObject }) {
  const { name, namespace } = metadata;
  const right = { verb: 'list', group: 'auth.platform.io', resource: 'audits', ...(namespace && { namespace }) };
  const query = { group, resource, name, limit, ...(namespace && { namespace }) };
  const load = useLoad(`activity/${kindId({ group, resource })}/${namespace}/${name}`, (signal) =>
    bodyOf(api.GET('/auth/v1/audit', { params: { query }, signal })),
  );
  usePoll(load, everyMs);
  return (
    <Loaded load={load}>
      {({ items, scope, metadata }) => (
        <>
          {scope === 'Own' && (
            <p class="muted">
              {t('activity.own')} <AskFor right={right} />
            </p>
          )}
          <FirstOnly isPart={metadata.continue !== undefined} count={items.length} kind={t('object.history')} />
          {items.length === 0 ? <Empty text={t(scope === 'Own' ? 'activity.noneOfYours' : 'activity.none')} /> : <Table events={items} />}
        </>
      )}
    </Loaded>
  );
}

const Table = ({ events }: { events: readonly AuditEvent[] }) => (
  <PlainTable
    label={t('object.history')}
    rows={events}
    idOf={({ auditID }) => auditID}
    columns={[
      { title: t('history.when'), cell: ({ requestReceivedTimestamp }) => <Ago since={requestReceivedTimestamp} /> },
      { title: t('history.what'), cell: sentenceOf },
      { title: t('activity.outcome'), cell: (event) => <Outcome event={event} /> },
      { title: t('history.from'), cell: ({ sourceIPs }) => <code>{sourceIPs.join(', ')}</code> },
    ]}
  />
);

function Outcome({ event }: { event: AuditEvent }) {
  const { code } = event.responseStatus;
  const [tone, icon, text] =
    code >= 400
      ? (['bad', CircleAlert, `${t(code === 403 ? 'activity.refused' : 'activity.failed')} (${code})`] as const)
      : hadEffect(event)
        ? (['ok', CircleCheck, t('activity.done')] as const)
        : (['info', Info, t('activity.dryRun')] as const);
  return (
    <span class={`phase ${tone}`}>
      <Icon of={icon} />
      <span>{text}</span>
    </span>
  );
}
