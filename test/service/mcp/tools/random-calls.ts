/** Random calls of tools by users with different rights and scopes, and the answers that the API server's own decisions lead to. */
import type { TokenScope } from '@atrium/http/caller.ts';
import { agentScope } from '../../../../src/mcp/authorization/agent-scope.ts';
import { AccessTokenScope } from '../../../../src/tokens/scope.ts';
import { type Manifest, serviceNamespace } from '../../../support/cluster-admin.ts';
import { randomNumbers } from '../../../support/random-numbers.ts';
import { aBinding, aNamespace, aRole, type Rule } from '../../access/objects.ts';

/** Question about a right; '' is the core group, the cluster, or all objects. */
export interface Question {
  verb: string;
  group: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
}

interface Kind {
  /** Names that kubectl takes. */
  names: readonly string[];
  group: string;
  resource: string;
  isNamespaced: boolean;
  /** True for a list of the service. */
  isOffered?: true;
}

const rbac = 'rbac.authorization.k8s.io';
export const kinds: readonly Kind[] = [
  { names: ['pods', 'po', 'Pod'], group: '', resource: 'pods', isNamespaced: true, isOffered: true },
  { names: ['configmaps', 'cm', 'configmap'], group: '', resource: 'configmaps', isNamespaced: true, isOffered: true },
  { names: ['namespaces', 'ns'], group: '', resource: 'namespaces', isNamespaced: false, isOffered: true },
  { names: ['secrets', 'Secret'], group: '', resource: 'secrets', isNamespaced: true },
  { names: [`roles.${rbac}`, 'Role'], group: rbac, resource: 'roles', isNamespaced: true },
  { names: [`rolebindings.${rbac}`], group: rbac, resource: 'rolebindings', isNamespaced: true },
  { names: ['clusterroles'], group: rbac, resource: 'clusterroles', isNamespaced: false },
];
const offered = kinds.filter(({ isOffered }) => isOffered);

/** Scope of an agent, as the oracle knows it: in words of its own. */
interface Lent {
  scope: TokenScope;
  has(question: Question): boolean;
}

const running = ['exec', 'attach', 'portforward', 'proxy'];
const usual: Lent = {
  scope: agentScope,
  has: ({ verb, resource, subresource }) =>
    ['get', 'list', 'watch'].includes(verb) && !['secrets', '*'].includes(resource) && !running.includes(subresource),
};
const ofShop = ['pods', 'pods/log', 'configmaps', 'events', 'rolebindings', 'namespaces'];
const shopOnly: Lent = {
  scope: new AccessTokenScope({
    namespaces: ['shop'],
    rules: [{ verbs: ['get', 'list'], apiGroups: ['*'], resources: ofShop }],
  }),
  has: ({ verb, resource, subresource, namespace }) =>
    namespace === 'shop' && ['get', 'list'].includes(verb) && ofShop.includes(subresource === '' ? resource : `${resource}/${subresource}`),
};
const mayCreate: Lent = {
  scope: new AccessTokenScope({
    rules: [{ verbs: ['get', 'list', 'create'], apiGroups: ['', rbac], resources: ['*'] }],
  }),
  // A shell needs the verb create, whatever the method.
  has: ({ group, verb, subresource }) =>
    ['', rbac].includes(group) && (['get', 'list', 'create'].includes(verb) || running.includes(subresource)),
};

interface Rights {
  everywhere?: Rule[];
  inNamespace?: Record<string, Rule[]>;
}

const rule = (verbs: string[], resources: string[], more: Partial<Rule> = {}): Rule => ({ verbs, apiGroups: [''], resources, ...more });

/** Each has a second user with the same rights and a narrower scope. */
const people: Record<string, Rights & { narrow: Lent }> = {
  ada: { everywhere: [rule(['get', 'list', 'watch'], ['*'], { apiGroups: ['*'] })], narrow: mayCreate },
  bob: {
    everywhere: [rule(['get', 'list'], ['pods'])],
    inNamespace: { shop: [rule(['get'], ['pods/log']), rule(['list'], ['events'])] },
    narrow: shopOnly,
  },
  cleo: {
    inNamespace: {
      shop: [rule(['get', 'list'], ['pods', 'configmaps', 'secrets', 'events']), rule(['get'], ['pods/log'])],
      bank: [rule(['list'], ['pods']), rule(['get'], ['configmaps'], { resourceNames: ['quartz-0'] })],
    },
    narrow: mayCreate,
  },
  dora: {
    everywhere: [
      rule(['get', 'list'], ['namespaces']),
      rule(['get', 'list'], ['clusterroles', 'rolebindings', 'clusterrolebindings'], { apiGroups: [rbac] }),
    ],
    inNamespace: {
      bank: [rule(['create', 'delete', 'get'], ['pods']), rule(['get'], ['roles'], { apiGroups: [rbac] }), rule(['list'], ['events'])],
    },
    narrow: mayCreate,
  },
  emil: {
    inNamespace: {
      shop: [rule(['get'], ['pods', 'pods/log'], { resourceNames: ['quartz-1'] }), rule(['get'], ['namespaces'])],
      bank: [rule(['list'], ['rolebindings'], { apiGroups: [rbac] })],
      vault: [rule(['list'], ['configmaps'])],
    },
    narrow: shopOnly,
  },
};

export const users: ReadonlyMap<string, Lent> = new Map(
  Object.entries(people).flatMap(([name, { narrow }]): [string, Lent][] => [
    [name, usual],
    [`${name}-2`, narrow],
  ]),
);

const namespaces = ['shop', 'bank', 'vault'];
/** A user with the rights of ada, whose calls before the test count for none of the others. */
export const warden = 'warden';
export const hidden = 'hunter2-of-the-quartz';

const rightsOf = (): Manifest[] =>
  Object.entries(people).flatMap(([name, { everywhere, inNamespace = {} }]) => {
    const to: `User:${string}`[] = [`User:${name}`, `User:${name}-2`, ...(name === 'ada' ? [`User:${warden}` as const] : [])];
    const role = `rights-of-${name}`;
    return [
      ...(everywhere ? [aRole(role, everywhere), aBinding(role, { role, to })] : []),
      ...Object.entries(inNamespace).flatMap(([namespace, rules]) => [
        aRole(role, rules, namespace),
        aBinding(role, { role, roleKind: 'Role', to, namespace }),
      ]),
    ];
  });

const objectsIn = (namespace: string): Manifest[] => {
  const of = (apiVersion: string, kind: string, name: string, rest: object): Manifest => ({
    ...{ apiVersion, kind, metadata: { name, namespace } },
    ...rest,
  });
  const container = { name: 'web', image: 'registry.example.com/web:1' };
  return ['quartz-0', 'quartz-1'].flatMap((name, index) => [
    of('v1', 'Pod', name, { spec: { nodeSelector: { disk: 'none' }, containers: [container] } }),
    of('v1', 'ConfigMap', name, { data: { key: 'value' } }),
    of('v1', 'Secret', name, { data: { password: Buffer.from(hidden).toString('base64') } }),
    aRole(name, [], namespace),
    of('v1', 'Event', `${name}.${index}`, {
      involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name },
      ...{ type: 'Warning', reason: `Quartz${index}In${namespace}`, message: 'looked at', lastTimestamp: `2026-01-12T10:0${index}:00Z` },
    }),
  ]);
};

export const objects: readonly Manifest[] = [
  ...namespaces.map((name) => aNamespace(name)),
  aRole('offered', [rule(['list', 'watch'], ['pods', 'configmaps', 'namespaces'])]),
  aBinding('offered', { role: 'offered', to: `ServiceAccount:${serviceNamespace}/atrium` }),
  ...rightsOf(),
  ...namespaces.flatMap(objectsIn),
];

export interface RandomCall {
  tool: string;
  input: Record<string, unknown>;
}

/** Returns a generator of calls. */
export function randomCalls(seed: number): () => RandomCall {
  const random = randomNumbers(seed);
  const one = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const maybe = <T extends object>(part: T): Partial<T> => (random() < 0.7 ? part : {});
  const place = () => maybe({ namespace: one(namespaces) });
  const name = () => one(['quartz-0', 'quartz-1', 'quartz-1', 'gone']);
  const object = () => {
    const kind = one(kinds);
    const called = kind.resource === 'namespaces' ? one([...namespaces, 'gone']) : kind.resource === 'clusterroles' ? 'view' : name();
    return { resource: one(kind.names), name: called, ...place() };
  };
  const question = () => ({
    verb: one(['get', 'list', 'watch', 'create', 'delete']),
    resource: one([
      ...['pods', 'po', 'pods/log', 'pods/exec', 'configmaps', 'secrets', 'events', 'namespaces', 'deployments.apps/scale'],
      ...[`rolebindings.${rbac}`, 'clusterroles', 'unicorns', '*'],
    ]),
    ...place(),
  });
  const inputs: Record<string, () => Record<string, unknown>> = {
    list: () => ({ resource: one(one(kinds).names), ...place(), limit: 200 }),
    get: object,
    describe: object,
    logs: () => ({ namespace: one(namespaces), pod: name() }),
    events: () => ({ ...place(), ...maybe({ name: name() }), limit: 200 }),
    may_i: () => ({ ...question(), ...maybe({ name: name() }) }),
    who_can: () => ({ ...question(), limit: 100 }),
    search: () => ({ text: one(['quartz', 'quartz-1', 'shop']), ...place(), limit: 20 }),
  };
  const tools = Object.keys(inputs);
  return () => {
    const tool = one(tools);
    return { tool, input: inputs[tool]?.() ?? {} };
  };
}

/** The cluster as its administrator sees it. */
export interface World {
  may(user: string, question: Question): Promise<boolean>;
  /** Objects by resource. */
  stored: ReadonlyMap<string, readonly { name: string; namespace: string }[]>;
}

/** Reports whether the service itself does not write an object of that name. */
const isSettled = (text: string) => !text.startsWith(`${serviceNamespace}/`);

const texts = (of: readonly { name: string; namespace: string }[]) =>
  of
    .map((each) => `${each.namespace}/${each.name}`)
    .filter(isSettled)
    .sort();

/** The rights of a user that an agent has. */
class Oracle {
  readonly #user: string;
  readonly #lent: Lent;
  readonly #world: World;

  constructor(user: string, lent: Lent, world: World) {
    this.#user = user;
    this.#lent = lent;
    this.#world = world;
  }

  async may(asked: Partial<Question> & Pick<Question, 'verb' | 'resource'>): Promise<boolean> {
    const question = { group: '', subresource: '', namespace: '', name: '', ...asked };
    return this.#lent.has(question) && (await this.#world.may(this.#user, question));
  }

  storedOf(resource: string) {
    return this.#world.stored.get(resource) ?? [];
  }

  namesIn(resource: string, namespace: string): string[] {
    return texts(this.storedOf(resource).filter((each) => namespace === '' || each.namespace === namespace));
  }

  /** Returns the users with a right, whatever is lent. */
  async usersWho(question: Question): Promise<string[]> {
    const allowed: string[] = [];
    for (const each of users.keys()) if (await this.#world.may(each, question)) allowed.push(each);
    return allowed;
  }

  /** Returns the names that a list of the service shows; undefined if the user may list nothing. */
  async rowsOf({ group, resource, isNamespaced }: Kind, namespace: string): Promise<string[] | undefined> {
    const list = { verb: 'list', group, resource };
    if (namespace !== '') return isNamespaced && (await this.may({ ...list, namespace })) ? this.namesIn(resource, namespace) : undefined;
    if (await this.may(list)) return this.namesIn(resource, '');
    const seen: string[][] = [];
    if (isNamespaced)
      for (const { name } of this.storedOf('namespaces'))
        if (await this.may({ ...list, namespace: name })) seen.push(this.namesIn(resource, name));
    return seen.length > 0 ? seen.flat().sort() : undefined;
  }
}

interface Asked {
  oracle: Oracle;
  kind: Kind;
  verb: string;
  /** Text that the tool gets. */
  resource: string;
  namespace: string;
  name: string;
  pod: string;
  text: string;
}

async function listed({ oracle, kind, namespace }: Asked): Promise<unknown> {
  if (kind.isOffered) return (await oracle.rowsOf(kind, namespace)) ?? 403;
  const within = kind.isNamespaced ? namespace : '';
  const isAllowed = await oracle.may({ verb: 'list', group: kind.group, resource: kind.resource, namespace: within });
  return isAllowed ? oracle.namesIn(kind.resource, within) : 403;
}

async function got({ oracle, kind: { group, resource, isNamespaced }, namespace, name }: Asked): Promise<string | number> {
  if (isNamespaced && namespace === '') return 400;
  const within = isNamespaced ? namespace : '';
  // The API server takes a namespace itself as an object within it.
  const at = resource === 'namespaces' ? name : within;
  if (!(await oracle.may({ verb: 'get', group, resource, namespace: at, name }))) return 403;
  return oracle.namesIn(resource, within).includes(`${within}/${name}`) ? `${within}/${name}` : 404;
}

async function described(asked: Asked): Promise<unknown> {
  const { oracle, kind, namespace } = asked;
  const object = await got(asked);
  const within = kind.isNamespaced ? namespace : '';
  return typeof object === 'number' ? object : [object, await oracle.may({ verb: 'list', resource: 'events', namespace: within })];
}

async function eventsOf({ oracle, namespace, name }: Asked): Promise<unknown> {
  if (!(await oracle.may({ verb: 'list', resource: 'events', namespace }))) return 403;
  return oracle.namesIn('events', namespace).filter((each) => name === '' || each.includes(`/${name}.`));
}

async function whoCan({ oracle, verb, resource, namespace }: Asked): Promise<unknown> {
  const bindings = { verb: 'list', group: rbac };
  const complete = await oracle.may({ ...bindings, resource: 'clusterrolebindings' });
  if (!(namespace === '' ? complete : await oracle.may({ ...bindings, resource: 'rolebindings', namespace }))) return 403;
  return { complete, allowed: await oracle.usersWho({ ...questionOf(resource), verb, namespace, name: '' }) };
}

async function searched({ oracle, namespace, text }: Asked): Promise<unknown> {
  const found: string[] = [];
  const unsearched: string[] = [];
  for (const each of offered.filter(({ isNamespaced }) => namespace === '' || isNamespaced)) {
    const rows = await oracle.rowsOf(each, namespace);
    if (rows === undefined) unsearched.push(each.resource);
    else found.push(...rows.filter((row) => row.split('/')[1]?.includes(text)).map((row) => `${each.resource} ${row}`));
  }
  return [found.sort(), unsearched.sort()];
}

const answers: Readonly<Record<string, (asked: Asked) => Promise<unknown>>> = {
  list: listed,
  get: got,
  describe: described,
  logs: ({ oracle, namespace, pod }) => oracle.may({ verb: 'get', resource: 'pods', subresource: 'log', namespace, name: pod }),
  events: eventsOf,
  may_i: ({ oracle, verb, resource, namespace, name }) => oracle.may({ ...questionOf(resource), verb, namespace, name }),
  who_can: whoCan,
  search: searched,
};

/** Returns the answer of a call that the rights of a user and the scope of the agent lead to; a number is the code of a refusal. */
export async function expectedAnswer({ tool, input }: RandomCall, user: string, lent: Lent, world: World): Promise<unknown> {
  const asked = { verb: '', resource: '', namespace: '', name: '', pod: '', text: '', ...(input as Record<string, string>) };
  const kind = kinds.find(({ names }) => names.includes(asked.resource)) ?? nothing;
  return answers[tool]?.({ ...asked, kind, oracle: new Oracle(user, lent, world) });
}

const nothing: Kind = { names: [], group: '', resource: '', isNamespaced: false };

/** Returns the question about a resource as the tools take it. */
function questionOf(text: string): Pick<Question, 'group' | 'resource' | 'subresource'> {
  const [named = '', subresource = ''] = text.split('/');
  const { group, resource } = kinds.find(({ names }) => names.includes(named)) ?? literal(named);
  return { group, resource, subresource };
}

function literal(text: string) {
  const [resource = '', ...group] = text.split('.');
  return { group: group.join('.'), resource };
}

/** Returns the part of an answer that the oracle knows. */
export function seenAnswer({ tool }: RandomCall, data: Record<string, unknown>, isError: boolean): unknown {
  const { code } = (data.error ?? {}) as { code?: number };
  if (tool === 'logs') return code !== 403;
  if (isError) return code;
  const items = (data.items ?? []) as { name: string; namespace?: string; resource: string; reason?: string }[];
  const named = ({ name, namespace = '' }: { name: string; namespace?: string }) => `${namespace}/${name}`;
  switch (tool) {
    case 'list':
      return items.map(named).filter(isSettled).sort();
    case 'get':
      return named((data.object as { metadata: { name: string } }).metadata);
    case 'describe':
      return [named(data.metadata as { name: string }), Array.isArray(data.events)];
    case 'events':
      return items
        .flatMap(({ reason = '' }) => {
          const { index, of } = /^Quartz(?<index>\d)In(?<of>\w+)$/.exec(reason)?.groups ?? {};
          return of === undefined ? [] : [`${of}/quartz-${index}.${index}`];
        })
        .sort();
    case 'may_i':
      return data.allowed;
    case 'who_can': {
      const subjects = (data.items as { subject: { kind: string; name: string } }[]).map(({ subject }) => subject);
      const told = new Set(subjects.flatMap(({ kind, name }) => (kind === 'User' && users.has(name) ? [name] : [])));
      return { complete: data.complete, allowed: [...users.keys()].filter((user) => told.has(user)) };
    }
    default: {
      const unsearched = (data.unsearched as { resource: string }[]).map(({ resource }) => resource);
      return [
        items.map((item) => `${item.resource} ${named(item)}`).sort(),
        unsearched.filter((resource) => offered.some((kind) => kind.resource === resource)).sort(),
      ];
    }
  }
}

/** Reports whether the answer is the expected one. Subjects of an incomplete answer have the right, and others may have it, too. */
export function isSame(expected: unknown, seen: unknown): boolean {
  if (isSubjects(expected) && isSubjects(seen) && !expected.complete)
    return !seen.complete && seen.allowed.every((user) => expected.allowed.includes(user));
  return JSON.stringify(expected) === JSON.stringify(seen);
}

const isSubjects = (value: unknown): value is { complete: boolean; allowed: string[] } =>
  typeof value === 'object' && value !== null && 'complete' in value;
