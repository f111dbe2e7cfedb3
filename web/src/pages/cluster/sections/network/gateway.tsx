import { t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { PlainTable } from '../../../../ui/plain-table';
import { Conditions } from '../conditions/condition-table';
import { ObjectLink } from '../object-link';
import { RelatedObjects } from '../related/related-objects';
import type { Section, SectionProps } from '../section';
import { backendsOf, filterText, matchText, type Reference, type RouteRule, type RouteSpec } from './gateway-route';

const group = 'gateway.networking.k8s.io';

interface Listener {
  name: string;
  hostname?: string;
  port: number;
  protocol: string;
  tls?: { mode?: string; certificateRefs?: readonly Reference[] };
}

interface GatewaySpec {
  gatewayClassName?: string;
  listeners?: readonly Listener[];
}

interface GatewayStatus {
  addresses?: readonly { type?: string; value: string }[];
  listeners?: readonly { name: string; attachedRoutes?: number; conditions?: unknown }[];
}

function GatewayFacts({ kinds, object }: SectionProps) {
  const { gatewayClassName: name } = (object.spec ?? {}) as GatewaySpec;
  const { addresses = [] } = (object.status ?? {}) as GatewayStatus;
  return (
    <Facts
      of={[
        [t('gateway.class'), name && <ObjectLink key="class" {...{ kinds, name, group }} kind="GatewayClass" />],
        [t('net.balancer'), addresses.map(({ value }) => value).join(', ') || t('net.pending')],
      ]}
    />
  );
}

function Certificates({ kinds, object, listener }: SectionProps & { listener: Listener }) {
  return (
    <ul>
      {(listener.tls?.certificateRefs ?? []).map((reference) => (
        <li key={JSON.stringify(reference)}>
          <LinkTo {...{ kinds, object, reference }} core="Secret" />
        </li>
      ))}
    </ul>
  );
}

/** A reference of the Gateway API: group, kind and namespace have defaults. */
function LinkTo({ kinds, object, reference, core }: Pick<SectionProps, 'kinds' | 'object'> & { reference: Reference; core: string }) {
  const { group: given = '', kind = core, name, namespace = object.metadata.namespace } = reference;
  return <ObjectLink {...{ kinds, kind, name, namespace }} group={given} />;
}

function Listeners(props: SectionProps) {
  const { listeners = [] } = (props.object.spec ?? {}) as GatewaySpec;
  const { listeners: states = [] } = (props.object.status ?? {}) as GatewayStatus;
  return (
    <PlainTable
      label={t('gateway.listeners')}
      rows={listeners}
      idOf={({ name }) => name}
      columns={[
        { title: t('net.name'), cell: ({ name }) => name },
        { title: t('net.host'), cell: ({ hostname = '*' }) => hostname },
        { title: t('net.port'), cell: ({ port, protocol }) => `${port}/${protocol}` },
        { title: t('gateway.certificates'), cell: (listener) => listener.tls && <Certificates {...props} listener={listener} /> },
        {
          title: t('gateway.attached'),
          cell: ({ name }) => states.find((state) => state.name === name)?.attachedRoutes ?? t('node.unknown'),
        },
      ]}
    />
  );
}

function GatewayRoutes({ kinds, object: { metadata } }: SectionProps) {
  return (
    <RelatedObjects kinds={kinds} id={`httproutes.${group}`}>
      {(routes, isPart) => {
        const attached = routes.filter((route) =>
          ((route.spec as RouteSpec | undefined)?.parentRefs ?? []).some(
            ({ kind = 'Gateway', name, namespace = route.metadata.namespace }) =>
              kind === 'Gateway' && name === metadata.name && namespace === metadata.namespace,
          ),
        );
        if (attached.length === 0) return isPart ? null : <p class="muted">{t('gateway.noRoutes')}</p>;
        return (
          <PlainTable
            label={t('gateway.routes')}
            rows={attached}
            idOf={({ metadata: { namespace, name } }) => `${namespace}/${name}`}
            columns={[
              {
                title: t('net.name'),
                cell: ({ metadata: { name, namespace } }) => <ObjectLink {...{ kinds, group, name, namespace }} kind="HTTPRoute" />,
              },
              { title: t('cluster.namespace'), cell: (route) => route.metadata.namespace },
              { title: t('gateway.hosts'), cell: (route) => ((route.spec as RouteSpec).hostnames ?? ['*']).join(', ') },
            ]}
          />
        );
      }}
    </RelatedObjects>
  );
}

function ClassFacts({ object }: SectionProps) {
  const { controllerName, description } = (object.spec ?? {}) as { controllerName?: string; description?: string };
  return (
    <Facts
      of={[
        [t('net.controller'), controllerName],
        [t('gateway.description'), description],
      ]}
    />
  );
}

const specOf = ({ object }: SectionProps): RouteSpec => (object.spec ?? {}) as RouteSpec;

function RouteFacts(props: SectionProps) {
  const { kinds, object } = props;
  const { parentRefs = [], hostnames = [] } = specOf(props);
  return (
    <Facts
      of={[
        [
          t('gateway.parents'),
          parentRefs.length > 0 && (
            <ul key="parents">
              {parentRefs.map((reference) => (
                <li key={JSON.stringify(reference)}>
                  <LinkTo {...{ kinds, object, reference: { group, ...reference } }} core="Gateway" />{' '}
                  <span class="muted">{reference.sectionName}</span>
                </li>
              ))}
            </ul>
          ),
        ],
        [t('gateway.hosts'), hostnames.join(', ') || '*'],
      ]}
    />
  );
}

function RouteRules(props: SectionProps) {
  const { rules = [] } = specOf(props);
  return (
    <PlainTable
      label={t('net.routes')}
      rows={rules}
      idOf={(rule) => JSON.stringify(rule)}
      columns={[
        { title: t('gateway.match'), cell: ({ matches = [{}] }) => <Texts of={matches.map(matchText)} /> },
        { title: t('gateway.filters'), cell: ({ filters = [] }) => <Texts of={filters.map(filterText)} /> },
        { title: t('net.target'), cell: (rule) => <Backends {...props} rule={rule} /> },
      ]}
    />
  );
}

const Texts = ({ of }: { of: readonly string[] }) => (
  <ul>
    {of.map((text) => (
      <li key={text}>
        <code>{text}</code>
      </li>
    ))}
  </ul>
);

function Backends({ kinds, object, rule }: SectionProps & { rule: RouteRule }) {
  const backends = backendsOf(rule);
  if (backends.length === 0) return <span class="muted">{t('gateway.noTarget')}</span>;
  return (
    <ul>
      {backends.map(({ reference, share }) => (
        <li key={JSON.stringify(reference)}>
          <LinkTo {...{ kinds, object, reference }} core="Service" />
          {reference.port !== undefined && `:${reference.port}`}{' '}
          {backends.length > 1 && <span class="muted">{Math.round(share * 100)} %</span>}
        </li>
      ))}
    </ul>
  );
}

interface ParentStatus {
  parentRef: Reference;
  conditions?: unknown;
}

const parentsOf = (object: SectionProps['object']): readonly ParentStatus[] =>
  Array.isArray(object.status?.parents) ? (object.status.parents as ParentStatus[]) : [];

function ParentStates({ kinds, object }: SectionProps) {
  return (
    <>
      {parentsOf(object).map(({ parentRef, conditions }) => (
        <article key={JSON.stringify(parentRef)} class="part">
          <h3>
            <LinkTo {...{ kinds, object, reference: { group, ...parentRef } }} core="Gateway" />
          </h3>
          <Conditions of={conditions} label={`${t('cluster.conditions')} ${parentRef.name}`} />
        </article>
      ))}
    </>
  );
}

function ListenerStates({ object }: SectionProps) {
  const { listeners = [] } = (object.status ?? {}) as GatewayStatus;
  return (
    <>
      {listeners.map(({ name, conditions }) => (
        <article key={name} class="part">
          <h3>{name}</h3>
          <Conditions of={conditions} label={`${t('cluster.conditions')} ${name}`} />
        </article>
      ))}
    </>
  );
}

export const sections: Readonly<Record<string, readonly Section[]>> = {
  [`gateways.${group}`]: [
    { View: GatewayFacts },
    { title: 'gateway.listeners', View: Listeners },
    {
      title: 'gateway.listenerStates',
      isShown: ({ status }) => ((status as GatewayStatus | undefined)?.listeners ?? []).length > 0,
      View: ListenerStates,
    },
    { title: 'gateway.routes', View: GatewayRoutes },
  ],
  [`gatewayclasses.${group}`]: [{ View: ClassFacts }],
  [`httproutes.${group}`]: [
    { View: RouteFacts },
    { title: 'net.routes', View: RouteRules },
    { title: 'gateway.parentStates', isShown: (object) => parentsOf(object).length > 0, View: ParentStates },
  ],
};
