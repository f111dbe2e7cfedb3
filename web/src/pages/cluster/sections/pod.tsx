import { type Kind, pageOf } from '../../../api/kinds';
import type { ClusterObject } from '../../../api/objects';
import { href } from '../../../app/router';
import { t, tOf } from '../../../text/text';
import { Ago } from '../../../ui/age';
import { Facts } from '../../../ui/facts';
import { Notice } from '../../../ui/state';
import { Containers } from './containers-view';
import { ObjectLink } from './object-link';
import { tolerations, volumes } from './pod-parts';
import { type Trouble, troublesOf } from './pod-state';
import type { Section, SectionProps } from './section';

function Troubles({ kind, object }: SectionProps) {
  return (
    <>
      {troublesOf(object).map((trouble) => (
        <TroubleNotice key={`${trouble.container}/${trouble.reason}`} kind={kind} pod={object} trouble={trouble} />
      ))}
    </>
  );
}

/** The reason of a broken container, its last end, and the way to its log. */
function TroubleNotice({ kind, pod, trouble }: { kind: Kind; pod: ClusterObject; trouble: Trouble }) {
  const { container, reason, message, last } = trouble;
  const words = tOf('podReason', reason);
  const log =
    container && `${href(pageOf(kind, pod.metadata, 'logs'))}?${new URLSearchParams({ container, ...(last && { previous: 'true' }) })}`;
  return (
    <Notice>
      <strong>{container ? `${container}: ${reason}` : reason}</strong> {words !== reason && words}
      {message && <p class="muted">{message}</p>}
      {last && (
        <p>
          {t('object.last')}: {t('object.lastEnd', { reason: last.reason ?? '', code: last.exitCode ?? last.signal ?? 0 })} ·{' '}
          <Ago since={last.finishedAt} />
          <br />
          {last.reason && last.reason !== reason && tOf('podReason', last.reason) !== last.reason && tOf('podReason', last.reason)}
        </p>
      )}
      {log && <a href={log}>{t('cluster.logOf', { name: container })}</a>}
    </Notice>
  );
}

function PodFacts({ kinds, object }: SectionProps) {
  const { spec = {}, status = {}, metadata } = object;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const ips = Array.isArray(status.podIPs) ? (status.podIPs as { ip?: string }[]).map(({ ip }) => ip).join(', ') : text(status.podIP);
  const [node, account] = [text(spec.nodeName), text(spec.serviceAccountName)];
  return (
    <Facts
      of={[
        [t('object.node'), node && <ObjectLink key="node" kinds={kinds} kind="Node" name={node} />],
        ['IP', ips],
        [t('object.hostIP'), text(status.hostIP)],
        [t('object.qos'), text(status.qosClass)],
        [
          t('object.serviceAccount'),
          account && <ObjectLink key="account" kinds={kinds} kind="ServiceAccount" name={account} namespace={metadata.namespace} />,
        ],
        [t('object.started'), <Ago key="started" since={text(status.startTime)} />],
        [t('object.priority'), text(spec.priorityClassName)],
      ]}
    />
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = {
  pods: [
    { isShown: (pod) => troublesOf(pod).length > 0, View: Troubles },
    { View: PodFacts },
    { title: 'object.containers', View: Containers },
    volumes,
    tolerations,
  ],
};
