/** Commands of kubectl that do what a button does. */

import { kindId, type Metadata } from '../../api/object-types.ts';

const plain = /^[\w./:=,@%+-]+$/;

/** Quotes a word for a POSIX shell. */
const quoted = (word: string): string => (plain.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** Joins words so that a POSIX shell separates them again. */
export const shellCommand = (words: readonly string[]): string => words.map(quoted).join(' ');

export const kubectl = (...words: readonly string[]): string => shellCommand(['kubectl', ...words]);

interface Resource {
  group: string;
  resource: string;
}

type Named = Pick<Metadata, 'name' | 'namespace'>;

const inNamespace = (namespace: string | undefined): readonly string[] => (namespace ? ['-n', namespace] : []);

/** Returns a command about one object: `kubectl scale deployments.apps/web -n shop --replicas=3`. */
export const kubectlFor = (verb: readonly string[], kind: Resource, { name, namespace }: Named, ...options: readonly string[]): string =>
  kubectl(...verb, `${kindId(kind)}/${name}`, ...inNamespace(namespace), ...options);

/** Reports whether `kubectl rollout restart` knows the kind. */
export const isRestartable = (id: string): boolean => ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps'].includes(id);

/** Returns a command for each namespace, because kubectl takes names of one namespace at a time. */
export function commandsFor(verb: readonly string[], kind: Resource, objects: readonly Named[], ...options: readonly string[]): string {
  const byNamespace = Map.groupBy(objects, ({ namespace }) => namespace);
  return [...byNamespace]
    .map(([namespace, some]) => kubectl(...verb, kindId(kind), ...some.map(({ name }) => name), ...inNamespace(namespace), ...options))
    .join('\n');
}

const pods: Resource = { group: '', resource: 'pods' };
const containerFlags = (container: string | undefined) => (container ? ['-c', container] : []);

export const execCommand = (pod: Named, container: string, shell: string): string =>
  kubectlFor(['exec', '-it'], pods, pod, ...containerFlags(container), '--', shell);

export const attachCommand = (pod: Named, container: string): string =>
  kubectlFor(['attach', '-it'], pods, pod, ...containerFlags(container));

interface LogCommand {
  namespace: string | undefined;
  /** Unset: the pods that the selector finds. */
  pod?: string | undefined;
  selector?: string;
  /** Unset: all containers. */
  container?: string | undefined;
  isPrevious: boolean;
  hasTimes: boolean;
  sinceSeconds?: number | undefined;
  tailLines: number;
  /** Streams that the page reads at most. */
  streams: number;
}

/**
 * Returns the command that follows what a page of logs shows. kubectl refuses to follow more than five streams unless `--max-log-requests`
 * is higher.
 */
export function logCommand(asked: LogCommand): string {
  const { namespace, pod, selector = '', container, isPrevious, hasTimes, sinceSeconds, tailLines, streams } = asked;
  const several = pod ? [] : ['--prefix', ...(isPrevious ? [] : [`--max-log-requests=${streams}`])];
  return kubectl(
    'logs',
    ...(pod ? [`pods/${pod}`] : ['-l', selector]),
    ...inNamespace(namespace),
    ...(container ? ['-c', container] : ['--all-containers']),
    ...several,
    isPrevious ? '--previous' : '--follow',
    ...(hasTimes ? ['--timestamps'] : []),
    sinceSeconds ? `--since=${sinceSeconds}s` : `--tail=${tailLines}`,
  );
}

interface DebugCommand {
  image: string;
  container: string;
  /** The container whose processes are seen. */
  target: string;
  profile: string;
}

export const debugCommand = (pod: Named, { image, container, target, profile }: DebugCommand): string =>
  kubectlFor(
    ['debug', '-it'],
    pods,
    pod,
    ...[`--image=${image}`, `--container=${container}`, ...(target ? [`--target=${target}`] : []), `--profile=${profile}`],
  );
