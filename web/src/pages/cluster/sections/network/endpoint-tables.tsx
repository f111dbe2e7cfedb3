import { serviceState } from '@atrium/objects/object-state.ts';
import type { ClusterObject } from '../../../../api/objects';
import { t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { PlainTable } from '../../../../ui/plain-table';
import { Notice } from '../../../../ui/state';
import { StateWord } from '../../cells';
import { ObjectLink } from '../object-link';
import { RelatedObjects } from '../related/related-objects';
import type { Section, SectionProps } from '../section';
import { type Endpoint, endpointsOf } from './endpoints';

/** The label by which EndpointSlices belong to a Service. */
const serviceLabel = 'kubernetes.io/service-name';
const shownEndpoints = 100;

function EndpointTable({ kinds, endpoints }: { kinds: SectionProps['kinds']; endpoints: readonly Endpoint[] }) {
  return (
    <>
      <PlainTable
        label={t('net.endpoints')}
        rows={endpoints.slice(0, shownEndpoints)}
        idOf={({ id }) => id}
        columns={[
          { title: t('net.address'), cell: ({ addresses }) => addresses.join(', ') },
          { title: t('cluster.state'), cell: ({ state }) => <StateWord word={state} /> },
          { title: t('net.target'), cell: ({ target }) => target && <ObjectLink kinds={kinds} {...target} /> },
          { title: t('object.node'), cell: ({ node }) => node && <ObjectLink kinds={kinds} kind="Node" name={node} /> },
          { title: t('net.zone'), cell: ({ zone }) => zone },
        ]}
      />
      {endpoints.length > shownEndpoints && <p class="muted">{t('net.moreEndpoints', { count: endpoints.length - shownEndpoints })}</p>}
    </>
  );
}

/** Counts endpoints that get traffic, and warns of a Service whose requests fail. */
function ServiceEndpoints({ kinds, object }: SectionProps) {
  const { metadata } = object;
  return (
    <RelatedObjects
      kinds={kinds}
      id="endpointslices.discovery.k8s.io"
      namespace={metadata.namespace}
      selection={{ labelSelector: `${serviceLabel}=${metadata.name}` }}
    >
      {(slices, isPart) => {
        const endpoints = endpointsOf(slices);
        const [ready, all] = [endpoints.filter(({ state }) => state === 'Ready').length, endpoints.length];
        if (all === 0 && isPart) return null;
        const { word, tone } = serviceState(object, { ready, all });
        return (
          <>
            <Notice kind={tone === 'off' ? 'info' : tone === 'ok' && ready < all ? 'warn' : (tone ?? 'info')}>
              <StateWord word={word} /> {all === 0 ? t('net.noEndpoints') : t('net.readyEndpoints', { count: ready, all })}
            </Notice>
            {all > 0 && <EndpointTable {...{ kinds, endpoints }} />}
          </>
        );
      }}
    </RelatedObjects>
  );
}

/** An ExternalName has no endpoints: it is an alias in DNS. */
export const serviceEndpoints: Section = {
  title: 'net.endpoints',
  isShown: ({ spec }) => spec?.type !== 'ExternalName',
  View: ServiceEndpoints,
};

function SliceFacts({ kinds, object }: SectionProps) {
  const { namespace, labels = {} } = object.metadata;
  const name = labels[serviceLabel];
  return (
    <Facts
      of={[
        [t('net.service'), name && <ObjectLink key="service" {...{ kinds, name, namespace }} kind="Service" />],
        [t('net.addressType'), String(object.addressType ?? '')],
        [t('net.managedBy'), labels['endpointslice.kubernetes.io/managed-by']],
      ]}
    />
  );
}

interface SlicePort {
  name?: string;
  port?: number | null;
  protocol?: string;
  appProtocol?: string;
}

const portsOf = ({ ports }: ClusterObject): readonly SlicePort[] => (Array.isArray(ports) ? ports : []);

function SlicePorts({ object }: SectionProps) {
  return (
    <PlainTable
      label={t('object.ports')}
      rows={portsOf(object)}
      idOf={(port) => JSON.stringify(port)}
      columns={[
        { title: t('net.name'), cell: ({ name }) => name },
        { title: t('net.port'), cell: ({ port, protocol = 'TCP' }) => `${port ?? '*'}/${protocol}` },
        { title: t('net.appProtocol'), cell: ({ appProtocol }) => appProtocol },
      ]}
    />
  );
}

function SliceEndpoints({ kinds, object }: SectionProps) {
  const endpoints = endpointsOf([object]);
  return endpoints.length === 0 ? <p class="muted">{t('net.emptySlice')}</p> : <EndpointTable {...{ kinds, endpoints }} />;
}

export const sliceSections: readonly Section[] = [
  { View: SliceFacts },
  { title: 'object.ports', isShown: (object) => portsOf(object).length > 0, View: SlicePorts },
  { title: 'net.endpoints', View: SliceEndpoints },
];
