import { isReady, troublesOf } from '@atrium/objects/pod-containers.ts';
import { t } from '../../../../text/text';
import { Ago } from '../../../../ui/age';
import { Facts } from '../../../../ui/facts';
import { ObjectLink } from '../object-link';
import type { Section, SectionProps } from '../section';
import { podUsage } from '../usage-history/object-usage';
import { warnings } from '../warnings';
import { Containers } from './containers-view';
import { tolerations, volumes } from './pod-parts';
import { TroubleNotice } from './trouble-notice';

function Troubles({ kind, object }: SectionProps) {
  return (
    <>
      {troublesOf(object).map((trouble) => (
        <TroubleNotice key={`${trouble.container}/${trouble.reason}`} kind={kind} pod={object} trouble={trouble} />
      ))}
    </>
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
        [t('object.started'), text(status.startTime) && <Ago key="started" since={text(status.startTime)} />],
        [t('object.priority'), text(spec.priorityClassName)],
      ]}
    />
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = {
  pods: [
    { isShown: (pod) => troublesOf(pod).length > 0, View: Troubles },
    // The notices above explain a pod in trouble, and a ready one has overcome its warnings.
    { ...warnings, isShown: (pod) => !isReady(pod) && troublesOf(pod).length === 0 },
    { View: PodFacts },
    podUsage,
    { title: 'object.containers', View: Containers },
    volumes,
    tolerations,
  ],
};
