import { t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { PlainTable } from '../../../../ui/plain-table';
import { Empty } from '../../../../ui/state';
import { chain } from '../chain/chain-section';
import { ObjectLink } from '../object-link';
import { selectedPods } from '../pod/selected-pods';
import type { Section, SectionProps } from '../section';
import { selectedLabels } from '../selector';
import { warnings } from '../warnings';
import { serviceEndpoints, sliceSections } from './endpoint-tables';
import { routeAddress } from './ingress-address.ts';
import { policySections } from './policy-view';

interface Port {
  name?: string;
  port: number;
  protocol?: string;
  targetPort?: number | string;
  nodePort?: number;
}

interface ServiceSpec {
  type?: string;
  clusterIP?: string;
  clusterIPs?: readonly string[];
  externalIPs?: readonly string[];
  externalName?: string;
  sessionAffinity?: string;
  ports?: readonly Port[];
}

/** The addresses that a load balancer has given to a Service or an Ingress. */
function balancerAddresses({ object: { status } }: SectionProps): string {
  const { ingress = [] } = (status?.loadBalancer ?? {}) as { ingress?: readonly { ip?: string; hostname?: string }[] };
  return ingress.map(({ ip, hostname }) => ip ?? hostname).join(', ');
}

function ServiceFacts(props: SectionProps) {
  const { type, clusterIP, clusterIPs, externalIPs, externalName, sessionAffinity } = (props.object.spec ?? {}) as ServiceSpec;
  const address = balancerAddresses(props);
  return (
    <Facts
      of={[
        [t('net.type'), type],
        [t('net.clusterIP'), clusterIP === 'None' ? t('net.headless') : (clusterIPs?.join(', ') ?? clusterIP)],
        [t('net.externalIP'), externalIPs?.join(', ')],
        [t('net.externalName'), externalName],
        [t('net.balancer'), address || (type === 'LoadBalancer' && t('net.pending'))],
        [t('net.affinity'), sessionAffinity],
        [t('net.selector'), selectedLabels(props.object) || (type !== 'ExternalName' && t('net.noSelector'))],
      ]}
    />
  );
}

const portsOf = ({ spec }: SectionProps['object']): readonly Port[] => ((spec ?? {}) as ServiceSpec).ports ?? [];

function Ports({ object }: SectionProps) {
  return (
    <PlainTable
      label={t('object.ports')}
      rows={portsOf(object)}
      idOf={({ port, protocol }) => `${port}/${protocol}`}
      columns={[
        { title: t('net.name'), cell: ({ name }) => name },
        { title: t('net.port'), cell: ({ port, protocol = 'TCP' }) => `${port}/${protocol}` },
        { title: t('net.targetPort'), cell: ({ port, targetPort }) => targetPort ?? port },
        { title: t('net.nodePort'), cell: ({ nodePort }) => nodePort },
      ]}
    />
  );
}

interface Backend {
  service?: { name: string; port?: { name?: string; number?: number } };
  resource?: { apiGroup?: string; kind: string; name: string };
}

interface IngressSpec {
  ingressClassName?: string;
  defaultBackend?: Backend;
  tls?: readonly { hosts?: readonly string[]; secretName?: string }[];
  rules?: readonly { host?: string; http?: { paths?: readonly { path?: string; pathType: string; backend: Backend }[] } }[];
}

const ingressOf = ({ object }: SectionProps): IngressSpec => (object.spec ?? {}) as IngressSpec;

function Target({ backend: { service, resource }, kinds, object }: SectionProps & { backend: Backend }) {
  const { namespace } = object.metadata;
  if (resource) return <ObjectLink {...{ kinds, namespace, kind: resource.kind, name: resource.name, group: resource.apiGroup ?? '' }} />;
  if (service === undefined) return null;
  const port = service.port?.name ?? service.port?.number;
  return (
    <>
      <ObjectLink {...{ kinds, namespace, kind: 'Service', name: service.name }} />
      {port !== undefined && `:${port}`}
    </>
  );
}

function IngressFacts(props: SectionProps) {
  const { kinds, object } = props;
  const { ingressClassName: name, defaultBackend, tls = [] } = ingressOf(props);
  const certificates = (
    <ul key="tls">
      {tls.map(({ hosts = [], secretName }, index) => (
        <li key={index}>
          {secretName && <ObjectLink {...{ kinds, kind: 'Secret', name: secretName, namespace: object.metadata.namespace }} />}{' '}
          <span class="muted">{hosts.join(', ')}</span>
        </li>
      ))}
    </ul>
  );
  return (
    <Facts
      of={[
        [t('net.class'), name && <ObjectLink key="class" {...{ kinds, name }} group="networking.k8s.io" kind="IngressClass" />],
        [t('net.balancer'), balancerAddresses(props) || t('net.pending')],
        [t('net.default'), defaultBackend && <Target key="default" {...props} backend={defaultBackend} />],
        ['TLS', tls.length > 0 && certificates],
      ]}
    />
  );
}

function HostLink({ host, address }: { host: string; address: string | undefined }) {
  if (address === undefined) return <>{host}</>;
  return (
    <a href={address} target="_blank" rel="noreferrer">
      {host}
    </a>
  );
}

function Routes(props: SectionProps) {
  const rows = (ingressOf(props).rules ?? []).flatMap(({ host = '*', http }) => (http?.paths ?? []).map((path) => ({ host, ...path })));
  if (rows.length === 0) return <Empty text={t('net.noRoutes')} />;
  return (
    <PlainTable
      label={t('net.routes')}
      rows={rows}
      idOf={(row) => JSON.stringify(row)}
      columns={[
        { title: t('net.host'), cell: (row) => <HostLink host={row.host} address={routeAddress(row, ingressOf(props).tls)} /> },
        { title: t('net.path'), cell: ({ path = '/' }) => <code>{path}</code> },
        { title: t('net.pathType'), cell: ({ pathType }) => pathType },
        { title: t('net.target'), cell: ({ backend }) => <Target {...props} backend={backend} /> },
      ]}
    />
  );
}

function ClassFacts({ kinds, object: { metadata, spec = {} } }: SectionProps) {
  const { controller, parameters } = spec as {
    controller?: string;
    parameters?: { apiGroup?: string; kind: string; name: string; namespace?: string };
  };
  return (
    <Facts
      of={[
        [t('net.controller'), controller],
        [
          t('net.isDefault'),
          t(metadata.annotations?.['ingressclass.kubernetes.io/is-default-class'] === 'true' ? 'object.yes' : 'object.no'),
        ],
        [
          t('net.parameters'),
          parameters && <ObjectLink key="parameters" {...{ kinds, ...parameters, group: parameters.apiGroup ?? '' }} />,
        ],
      ]}
    />
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = {
  services: [
    warnings,
    { View: ServiceFacts },
    chain,
    { title: 'object.ports', isShown: (object) => portsOf(object).length > 0, View: Ports },
    serviceEndpoints,
    selectedPods,
  ],
  'endpointslices.discovery.k8s.io': sliceSections,
  'networkpolicies.networking.k8s.io': policySections,
  'ingressclasses.networking.k8s.io': [{ View: ClassFacts }],
  'ingresses.networking.k8s.io': [warnings, { View: IngressFacts }, chain, { title: 'net.routes', View: Routes }],
};
