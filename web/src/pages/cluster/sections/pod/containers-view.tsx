import { type Container, type ContainerSpec, containersOf, containerWord, isSidecar } from '@atrium/objects/pod-containers.ts';
import type { Kind } from '../../../../api/kinds';
import { t } from '../../../../text/text';
import { Ago } from '../../../../ui/age';
import { Facts } from '../../../../ui/facts';
import { StateWord } from '../../cells';
import { shellCommand } from '../../kubectl';
import { useUsages } from '../../usage';
import { type Amounts, usageKey } from '../../usage-amounts';
import { ObjectLink } from '../object-link';
import type { SectionProps } from '../section';
import { UsageOfContainer } from './container-usage';

/** Shows the containers of a pod, regular ones first. */
export function Containers({ kind, kinds, object }: SectionProps) {
  const { name, namespace } = object.metadata;
  const usages = useUsages({ kinds, of: kind, namespace, name });
  const usage = usages?.get(usageKey(object.metadata));
  return (
    <div class="containers">
      {containersOf(object).map((container) => (
        <OneContainer key={container.spec.name} {...{ container, kinds, namespace }} usage={usage?.containers.get(container.spec.name)} />
      ))}
    </div>
  );
}

/** Shows the containers of a template. They have no state. */
export const TemplateContainers = ({ kinds, object }: SectionProps) => (
  <div class="containers">
    {containersOf(object).map((container) => (
      <OneContainer key={container.spec.name} {...{ container, kinds }} namespace={object.metadata.namespace} />
    ))}
  </div>
);

interface OneProps {
  container: Container;
  kinds: readonly Kind[];
  namespace: string | undefined;
  usage?: Amounts | undefined;
}

function OneContainer({ container, kinds, namespace, usage }: OneProps) {
  const { kind, spec, status } = container;
  const { running, terminated } = status?.state ?? {};
  const last = terminated ?? status?.lastState?.terminated;
  return (
    <article class="container" aria-label={spec.name}>
      <header>
        <h3>{spec.name}</h3>
        {kind !== 'container' && <span class="chip">{t(sortKey(container))}</span>}
        {status && <StateWord word={containerWord(container)} />}
        {running && <Ago since={running.startedAt} />}
      </header>
      {usage && <UsageOfContainer spec={spec} usage={usage} />}
      <Facts
        of={[
          [t('object.image'), <code key="image">{spec.image}</code>],
          [t('object.command'), commandOf(spec)],
          [t('object.ready'), status && t(status.ready ? 'object.yes' : 'object.no')],
          [t('object.restarts'), status?.restartCount !== undefined && String(status.restartCount)],
          [
            t('object.last'),
            last && (
              <>
                {t('object.lastEnd', { reason: last.reason ?? '', code: last.exitCode ?? 0 })} · <Ago since={last.finishedAt} />
              </>
            ),
          ],
          [t('object.ports'), portsOf(spec)],
          [t('object.requests'), amounts(spec, 'requests')],
          [t('object.limits'), amounts(spec, 'limits')],
          [t('object.probes'), probes(spec)],
          [t('object.environment'), <Environment key="env" {...{ spec, kinds, namespace }} />],
          [t('object.mounts'), mounts(spec)],
        ]}
      />
    </article>
  );
}

function sortKey(container: Container) {
  if (isSidecar(container)) return 'object.sidecar';
  return container.kind === 'initContainer' ? 'object.init' : 'object.ephemeral';
}

const listOf = <T,>(value: unknown): readonly T[] => (Array.isArray(value) ? (value as T[]) : []);

/** Shows the command and its arguments as a shell takes them. */
function commandOf({ command, args }: ContainerSpec) {
  const words = [...listOf<unknown>(command), ...listOf<unknown>(args)].map(String);
  return words.length > 0 && <code>{shellCommand(words)}</code>;
}

const portsOf = ({ ports }: ContainerSpec) =>
  listOf<{ name?: string; containerPort: number; protocol?: string }>(ports)
    .map(({ name, containerPort, protocol = 'TCP' }) => `${name ? `${name}: ` : ''}${containerPort}/${protocol}`)
    .join(', ');

function amounts({ resources }: ContainerSpec, member: 'requests' | 'limits'): string {
  const given = (resources as Record<string, Record<string, unknown>> | undefined)?.[member] ?? {};
  return Object.entries(given)
    .map(([name, amount]) => `${name} ${amount}`)
    .join(', ');
}

interface Probe {
  httpGet?: { path?: string; port?: number | string };
  tcpSocket?: { port?: number | string };
  grpc?: { port?: number };
  exec?: { command?: string[] };
}

function probes(spec: ContainerSpec): string {
  return (['startup', 'readiness', 'liveness'] as const)
    .flatMap((name) => {
      const probe = spec[`${name}Probe`] as Probe | undefined;
      return probe ? [`${t(`object.${name}`)}: ${probeText(probe)}`] : [];
    })
    .join('; ');
}

function probeText({ httpGet, tcpSocket, grpc, exec }: Probe): string {
  if (httpGet) return `GET ${httpGet.path ?? '/'} :${httpGet.port ?? ''}`;
  if (tcpSocket) return `TCP :${tcpSocket.port ?? ''}`;
  return grpc ? `gRPC :${grpc.port ?? ''}` : (exec?.command ?? []).join(' ');
}

const mounts = ({ volumeMounts }: ContainerSpec) => {
  const list = listOf<{ name: string; mountPath: string; readOnly?: boolean }>(volumeMounts);
  if (list.length === 0) return undefined;
  return (
    <ul>
      {list.map(({ name, mountPath, readOnly }) => (
        <li key={mountPath}>
          <code>{mountPath}</code> {name} {readOnly && t('object.readOnly')}
        </li>
      ))}
    </ul>
  );
};

interface Reference {
  name?: string;
  key?: string;
}

interface Variable {
  name: string;
  value?: string;
  valueFrom?: {
    secretKeyRef?: Reference;
    configMapKeyRef?: Reference;
    fieldRef?: { fieldPath?: string };
    resourceFieldRef?: { resource?: string };
  };
}

interface EnvironmentProps extends Pick<OneProps, 'kinds' | 'namespace'> {
  spec: ContainerSpec;
}

/** Variables by name. A reference is a link, and its value stays with its object. */
function Environment({ spec, kinds, namespace }: EnvironmentProps) {
  const all = listOf<{ prefix?: string; secretRef?: Reference; configMapRef?: Reference }>(spec.envFrom);
  const variables = listOf<Variable>(spec.env);
  if (all.length + variables.length === 0) return <span class="muted">{t('object.noneOf')}</span>;
  const link = (kind: string, { name = '', key }: Reference) => (
    <>
      {kind} <ObjectLink {...{ kinds, kind, name, namespace }} /> {key}
    </>
  );
  return (
    <ul>
      {all.map(({ prefix = '', secretRef, configMapRef }, index) => (
        <li key={`from-${index}`}>
          <code>{prefix}*</code> {secretRef ? link('Secret', secretRef) : configMapRef && link('ConfigMap', configMapRef)}
        </li>
      ))}
      {variables.map(({ name, value, valueFrom = {} }) => (
        <li key={name}>
          <code>{name}</code>{' '}
          {valueFrom.secretKeyRef ? (
            link('Secret', valueFrom.secretKeyRef)
          ) : valueFrom.configMapKeyRef ? (
            link('ConfigMap', valueFrom.configMapKeyRef)
          ) : (
            <span class="muted">{value ?? valueFrom.fieldRef?.fieldPath ?? valueFrom.resourceFieldRef?.resource}</span>
          )}
        </li>
      ))}
    </ul>
  );
}
