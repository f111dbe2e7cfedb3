/** The chain of objects from an Ingress to its pods, and what they use, out of objects that were read. */

import { groupOf, listOf, type Members, membersOf, textOf } from './members.ts';
import { type ObjectState, objectState, serviceState } from './object-state.ts';
import { backendsOf, certificatesOf, type Reference, referencesOf } from './references.ts';
import type { Tone } from './state-tone.ts';

/** Column of a kind, from left to right. */
const columns: Readonly<Record<string, number>> = {
  ...{ Ingress: 0, Service: 1, CronJob: 2, Deployment: 2, StatefulSet: 2, DaemonSet: 2, ReplicationController: 2, Job: 3, ReplicaSet: 3 },
  ...{ Pod: 4, ConfigMap: 5, Secret: 5, PersistentVolumeClaim: 5, ServiceAccount: 5 },
};

export interface ChainNode {
  /** `Kind/name`, `Pods/owner` for pods that are grouped, or `More/kind` for objects without room. */
  id: string;
  kind: string;
  group: string;
  name: string;
  column: number;
  /** Undefined for an object that was not read. */
  state: ObjectState | undefined;
  /** Frame around the pods of one owner; undefined for a single one. */
  frame?: string;
  /** Pods of a group. */
  pods?: { count: number; unready: number; owner: string };
  /** Number of objects of a kind that a column has no room for. */
  more?: number;
  /** True for the object whose page shows the chain. */
  isRoot: boolean;
}

/** Edges lead from and to nodes, and frames. */
export interface Chain {
  nodes: readonly ChainNode[];
  edges: readonly (readonly [from: string, to: string])[];
}

/** Pods of one owner that are shown one by one; more of them are grouped. */
const shownPods = 4;
const shownUnready = 3;
/** Nodes of a column: the others of each kind are one node. */
const maxOfColumn = 12;

const groupId = (owner: string): string => `Pods/${owner}`;
const metadataOf = (object: unknown): Members => membersOf(membersOf(object).metadata);
const nameOf = (object: unknown): string => textOf(metadataOf(object).name);
const kindOf = (object: unknown): string => textOf(membersOf(object).kind);
const idOf = (object: unknown): string => `${kindOf(object)}/${nameOf(object)}`;

/** Returns the owner that controls an object, or that a Job of an old kubectl names. */
function ownerOf(object: unknown): { kind: string; name: string; uid: string } | undefined {
  const owners = listOf(metadataOf(object).ownerReferences);
  const { kind, name, uid } = owners.find(({ controller }) => controller === true) ?? owners[0] ?? {};
  return kind === undefined ? undefined : { kind: textOf(kind), name: textOf(name), uid: textOf(uid) };
}

/** Reports whether the plain selector of a Service finds these labels. An empty one finds none. */
export function selectsLabels(selector: unknown, labels: unknown): boolean {
  const wanted = Object.entries(membersOf(selector));
  return wanted.length > 0 && wanted.every(([key, value]) => membersOf(labels)[key] === value);
}

/** Returns the labels of the pods that a workload makes. */
export function podLabels(object: unknown): Members {
  const own = membersOf(membersOf(object).spec);
  const { template } = kindOf(object) === 'CronJob' ? membersOf(membersOf(own.jobTemplate).spec) : own;
  return membersOf(membersOf(membersOf(template).metadata).labels);
}

/**
 * Returns the chain of an object.
 *
 * @param root an Ingress, a Service, or a workload
 * @param read objects of its namespace that may belong to it: those that do not are left out
 * @param endpoints of the Services of its namespace by name; undefined if they are not known
 */
export function chainOf(root: unknown, read: readonly unknown[], endpoints?: Endpoints): Chain {
  return new ChainBuilder(root, read, endpoints).build();
}

type Endpoints = ReadonlyMap<string, { ready: number; all: number }>;

class ChainBuilder {
  readonly #root: unknown;
  readonly #endpoints: Endpoints | undefined;
  readonly #all = new Map<string, unknown>();
  readonly #nodes = new Map<string, ChainNode>();
  readonly #edges = new Set<string>();

  constructor(root: unknown, read: readonly unknown[], endpoints: Endpoints | undefined) {
    this.#root = root;
    this.#endpoints = endpoints;
    for (const object of [...read, root]) this.#all.set(idOf(object), object);
  }

  build(): Chain {
    const kind = kindOf(this.#root);
    this.#add(this.#root);
    if (kind === 'Ingress') this.#addBackends(this.#root);
    else if (kind === 'Service') this.#addService(this.#root);
    else this.#addWorkload(this.#root);
    return bounded(
      [...this.#nodes.values()],
      [...this.#edges].map((edge) => JSON.parse(edge) as [string, string]),
    );
  }

  #ofKind(kind: string): unknown[] {
    return [...this.#all.values()].filter((object) => kindOf(object) === kind);
  }

  #add(object: unknown, more: Partial<ChainNode> = {}): string {
    const [id, kind] = [idOf(object), kindOf(object)];
    if (!this.#nodes.has(id))
      this.#nodes.set(id, {
        ...{ id, kind, group: groupOf(membersOf(object).apiVersion), name: nameOf(object), column: columns[kind] ?? 5 },
        ...{ state: this.#stateOf(object), isRoot: id === idOf(this.#root) },
        ...more,
      });
    return id;
  }

  #stateOf(object: unknown): ObjectState {
    if (kindOf(object) !== 'Service' || this.#endpoints === undefined) return objectState(object);
    return serviceState(object, this.#endpoints.get(nameOf(object)) ?? { ready: 0, all: 0 });
  }

  #join(from: string, to: string): void {
    this.#edges.add(JSON.stringify([from, to]));
  }

  #addBackends(ingress: unknown): void {
    for (const name of backendsOf(ingress)) {
      const service = this.#all.get(`Service/${name}`);
      this.#join(idOf(ingress), service === undefined ? this.#addName('Service', name) : this.#add(service));
      if (service !== undefined) this.#addTargets(service);
    }
    this.#addUses(idOf(ingress), certificatesOf(ingress));
  }

  #addService(service: unknown): void {
    this.#addIngresses(service);
    this.#addTargets(service);
  }

  #addIngresses(service: unknown): void {
    for (const ingress of this.#ofKind('Ingress').filter((one) => backendsOf(one).includes(nameOf(service))))
      this.#join(this.#add(ingress), idOf(service));
  }

  #podsOf(service: unknown): unknown[] {
    const { selector } = membersOf(membersOf(service).spec);
    return this.#ofKind('Pod').filter((pod) => selectsLabels(selector, metadataOf(pod).labels));
  }

  /** Adds the workloads whose pods a Service selects, and pods without one. */
  #addTargets(service: unknown): void {
    const { selector } = membersOf(membersOf(service).spec);
    const pods = this.#podsOf(service);
    const tops = new Map<string, unknown>();
    for (const workload of ['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicationController'].flatMap((kind) => this.#ofKind(kind)))
      if (selectsLabels(selector, podLabels(workload))) tops.set(idOf(workload), workload);
    for (const pod of pods) {
      const top = this.#topOf(pod);
      tops.set(idOf(top), top);
    }
    const bare: unknown[] = [];
    for (const top of tops.values()) {
      if (kindOf(top) === 'Pod') bare.push(top);
      else {
        this.#join(idOf(service), this.#add(top));
        this.#addBelow(top);
      }
    }
    this.#addPods(idOf(service), bare);
  }

  /** Returns the last owner that was read. An owner that was not is known by its name. */
  #topOf(object: unknown): unknown {
    const owner = ownerOf(object);
    if (owner === undefined || columns[owner.kind] === undefined) return object;
    const found = this.#all.get(`${owner.kind}/${owner.name}`);
    return found === undefined ? object : this.#topOf(found);
  }

  #addWorkload(workload: unknown): void {
    const owner = ownerOf(workload);
    const above = owner && this.#all.get(`${owner.kind}/${owner.name}`);
    if (above !== undefined) this.#join(this.#add(above), idOf(workload));
    for (const service of this.#ofKind('Service')) {
      if (!selectsLabels(membersOf(membersOf(service).spec).selector, podLabels(workload))) continue;
      this.#join(this.#add(service), above === undefined ? idOf(workload) : idOf(above));
      this.#addIngresses(service);
    }
    this.#addBelow(workload);
  }

  /** Adds what a workload owns, down to its pods, and what these use. */
  #addBelow(workload: unknown): void {
    const [id, uid] = [idOf(workload), metadataOf(workload).uid];
    const owned = (kind: string) =>
      this.#ofKind(kind).filter((one) => listOf(metadataOf(one).ownerReferences).some((ref) => ref.uid === uid));
    const sets = ['ReplicaSet', 'Job'].flatMap(owned);
    // Revisions without pods are history.
    const current = sets.filter((set) => kindOf(set) !== 'ReplicaSet' || hasPods(set));
    for (const set of current) {
      this.#join(id, this.#add(set));
      this.#addBelow(set);
    }
    const pods = owned('Pod');
    this.#addPods(id, pods);
    if (pods.length === 0 && current.length === 0) this.#addUses(id, referencesOf(workload));
  }

  #addPods(owner: string, pods: readonly unknown[]): void {
    const states = pods.map((pod) => ({ pod, state: objectState(pod) }));
    const unready = states.filter(({ state }) => state.tone !== 'ok').sort((a, b) => rank(a.state.tone) - rank(b.state.tone));
    const isGrouped = pods.length > shownPods;
    const shown = isGrouped ? unready.slice(0, shownUnready) : states;
    const framed = shown.length + Number(isGrouped) > 1 ? { frame: `frame/${owner}` } : {};
    if (isGrouped) this.#addGroup({ count: pods.length, unready: unready.length, owner }, unready[0]?.state.tone ?? 'ok', framed);
    for (const { pod, state } of shown) this.#add(pod, { state, ...framed });
    const [only] = shown;
    const holder = framed.frame ?? (isGrouped ? groupId(owner) : only && idOf(only.pod));
    if (holder === undefined) return;
    this.#join(owner, holder);
    for (const pod of pods) this.#addUses(holder, referencesOf(pod));
  }

  #addGroup(pods: NonNullable<ChainNode['pods']>, tone: Tone, framed: Partial<ChainNode>): void {
    const id = groupId(pods.owner);
    const state = { word: '', tone, reason: '', figure: '' };
    this.#nodes.set(id, { id, kind: 'Pod', group: '', name: '', column: 4, isRoot: false, state, pods, ...framed });
  }

  #addUses(user: string, references: readonly Reference[]): void {
    for (const { kind, name } of references) {
      // Each pod has an account, and most have the same one.
      if (kind === 'ServiceAccount') continue;
      const object = this.#all.get(`${kind}/${name}`);
      this.#join(user, object === undefined ? this.#addName(kind, name) : this.#add(object));
    }
  }

  #addName(kind: string, name: string): string {
    const id = `${kind}/${name}`;
    if (!this.#nodes.has(id))
      this.#nodes.set(id, { id, kind, group: '', name, column: columns[kind] ?? 5, state: undefined, isRoot: false });
    return id;
  }
}

/** Replaces the nodes that a column has no room for by one for each of their kinds, to which their edges lead. */
function bounded(all: readonly ChainNode[], edges: Chain['edges']): Chain {
  const columns = Map.groupBy(
    [...all].sort((a, b) => a.column - b.column),
    ({ column }) => column,
  );
  const [nodes, replaced]: [ChainNode[], Map<string, string>] = [[], new Map()];
  for (const column of columns.values()) {
    const isShown = (node: ChainNode, index: number): boolean => node.isRoot || index < maxOfColumn;
    const [shown, hidden] = [column.filter(isShown), column.filter((node, index) => !isShown(node, index))];
    const rest = [...Map.groupBy(hidden, ({ kind }) => kind).values()].map(restOf);
    nodes.push(...shown, ...rest);
    for (const { id, kind, frame } of hidden) {
      replaced.set(id, moreId(kind));
      if (frame !== undefined && !shown.some((node) => node.frame === frame)) replaced.set(frame, moreId(kind));
    }
  }
  const led = edges.map(([from, to]) => JSON.stringify([replaced.get(from) ?? from, replaced.get(to) ?? to]));
  return { nodes, edges: [...new Set(led)].map((edge) => JSON.parse(edge) as [string, string]) };
}

const moreId = (kind: string): string => `More/${kind}`;

/** Returns the node of objects of one kind that have no room, with the worst of their states. */
function restOf(hidden: readonly ChainNode[]): ChainNode {
  const [{ kind, group, column } = { kind: '', group: '', column: 0 }] = hidden;
  const [worstState] = hidden.flatMap(({ state }) => state ?? []).sort((a, b) => rank(a.tone) - rank(b.tone));
  const more = hidden.reduce((sum, { pods }) => sum + (pods?.count ?? 1), 0);
  return { id: moreId(kind), kind, group, name: '', column, state: worstState && { ...worstState, figure: '' }, more, isRoot: false };
}

function hasPods(set: unknown): boolean {
  const { spec, status } = membersOf(set);
  return membersOf(spec).replicas !== 0 || Number(membersOf(status).replicas ?? 0) > 0;
}

const worst: readonly (Tone | undefined)[] = ['bad', 'warn', undefined, 'off', 'ok'];
const rank = (tone: Tone | undefined): number => worst.indexOf(tone);
