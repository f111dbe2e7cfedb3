/**
 * Uses of bindings, from the events of the audit. An event is a use of a binding if its user holds the binding, and the rules of the role
 * allow the request. A right that several bindings give is a use of each. The number of questions to the store is bounded for each answer.
 */
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { AuditFilter, AuditPlace, AuditStore } from '@atrium/audit-store/store.ts';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import { runningSubresources } from '@atrium/kubernetes/opened-connection.ts';
import type { RoleBinding } from '@atrium/kubernetes/rbac/role-bindings.ts';
import type { PolicyRule } from '@atrium/kubernetes/rbac/rules.ts';
import type { Standing } from './bindings.ts';
import type { Holders } from './people.ts';
import type { StandingUse, UnknownReason } from './schema.ts';
import { eventLines, givesRight, usedRights } from './used-rights.ts';

/** People of a binding of whom each is asked about. For more, the newest events of all users are looked at. */
const maxPeople = 50;
const eventsOfMany = 500;
/** Questions to the store for one answer, and those at a time. */
const maxQuestions = 400;
const questionsAtOnce = 4;
/** Events of the first question about a person, and of the second, which asks for what a role allows. */
const newestEvents = 50;
const allowedEvents = 200;
/** Conditions that a store takes as alternatives. */
const maxLines = 8;

/** Verbs of which each request is recorded. */
const recordedVerbs: ReadonlySet<string> = new Set(['create', 'update', 'patch', 'delete', 'deletecollection', '*']);
/** Resources of which reads are recorded, too. */
const recordedReads: ReadonlySet<string> = new Set(['secrets', 'audits', '*']);

/** Events of the service that need no right if they are about the own record of the user. */
const freeOnOwn: ReadonlySet<string> = new Set(['UserPatched', 'AccessTokenDeleted']);

export interface UsesOptions {
  store: AuditStore;
  /** Begin of the period, in milliseconds since the epoch. */
  from: number;
  /** Namespace to whose bindings the caller is limited. */
  namespace: string | undefined;
  /** Namespace of the service, which has its sessions. */
  serviceNamespace: string;
  /** The API server has told requests since `from`. */
  hasDirect: boolean;
  /** The installation has an audit policy of its own, which may leave out requests. */
  hasPolicy: boolean;
  signal: AbortSignal;
  /** Returns the User record of a user, whose own changes need no right. */
  recordOf(user: string): string | undefined;
}

/** A person of whom events are left that were not looked at. */
const notAllSeen = Symbol('not all seen');
type LastUse = AuditEvent | typeof notAllSeen | undefined;

interface Seen {
  seen: readonly AuditEvent[];
  /** False if events are left that were not looked at. */
  isWhole: boolean;
}

export class Uses {
  readonly #options: UsesOptions;
  readonly #newest = new Map<string, Promise<Page | undefined>>();
  #questions = 0;

  constructor(options: UsesOptions) {
    this.#options = options;
  }

  /** @throws StatusError 429, 503, 504 */
  async of(standing: Standing, { people, isComplete }: Holders, auditedSince: number | undefined): Promise<StandingUse> {
    const { binding, rules, hasRole } = standing;
    if (rules === undefined) return unknown('RoleHidden');
    if (!hasRole) return unknown('RoleMissing');
    const created = binding.creationTimestamp === undefined ? undefined : Date.parse(binding.creationTimestamp);
    const since = Math.max(this.#options.from, created ?? 0);
    const right = { binding, rules, since };
    const { seen: seenKnown, isWhole } = await this.#seen(people, right);
    const seen = newestOfEach([...seenKnown, ...(await this.#seenByName(right))]);
    const isAudited = auditedSince !== undefined && auditedSince <= since;
    const last = seen.toSorted((one, other) => (one.requestReceivedTimestamp < other.requestReceivedTimestamp ? 1 : -1))[0];
    if (last !== undefined) {
      const known = new Set(people);
      const isKnown = isComplete && seen.every(({ user }) => known.has(user?.username ?? ''));
      const isCounted = isKnown && (seen.length === people.length || (isWhole && isAudited && !this.#options.hasPolicy));
      return { state: 'Used', users: seen.length, ...(!isCounted && { atLeast: true as const }), last: shown(last) };
    }
    if (!rules.some(isRecorded)) return unknown('NotRecorded');
    if (!isComplete) return unknown('MembersUnknown');
    if (!isWhole) return unknown(people.length > maxPeople ? 'TooManyPeople' : 'TooManyEvents');
    if (!isAudited) return unknown('AuditTooYoung');
    if (this.#options.hasPolicy) return unknown('AuditPolicy');
    return { state: 'NotSeen', since: new Date(since).toISOString() };
  }

  /** Returns the newest use of each person who was seen. */
  async #seen(people: readonly string[], right: Right): Promise<Seen> {
    if (people.length > maxPeople) return await this.#seenAmongMany(new Set(people), right);
    const uses = await mapLimit(questionsAtOnce, people, (user) => this.#lastUse(user, right));
    return { seen: uses.filter((use) => use !== undefined && use !== notAllSeen), isWhole: !uses.includes(notAllSeen) };
  }

  /** Looks at the newest events that the rules may allow, by any user. */
  async #seenAmongMany(people: ReadonlySet<string>, right: Right): Promise<Seen> {
    const page = await this.#ask(this.#conditionsOf(right), eventsOfMany);
    const newest = new Map<string, AuditEvent>();
    for (const event of page?.events ?? []) {
      const user = event.user?.username ?? '';
      if (people.has(user) && !newest.has(user) && this.#isUse(event, user, right)) newest.set(user, event);
    }
    return { seen: [...newest.values()], isWhole: page !== undefined && page.last === undefined };
  }

  /** Looks for users who are not known to hold the binding: the API server names the binding that allowed a request. */
  async #seenByName(right: Right): Promise<AuditEvent[]> {
    if (!this.#options.hasDirect || right.binding.subjects.every(({ kind }) => kind === 'User')) return [];
    const page = await this.#ask({ ...this.#conditionsOf(right), source: 'kube-apiserver' }, eventsOfMany);
    return (page?.events ?? []).filter(
      (event) => isAllowedBy(event, right.binding) && this.#isUse(event, event.user?.username ?? '', right),
    );
  }

  async #lastUse(user: string, right: Right): Promise<LastUse> {
    const isUse = (event: AuditEvent) => this.#isUse(event, user, right);
    const newest = this.#newest.get(user) ?? this.#ask({ actor: user, ...this.#limit }, newestEvents);
    this.#newest.set(user, newest);
    const page = await newest;
    const found = page?.events.find(isUse);
    if (found !== undefined) return found;
    if (page === undefined) return notAllSeen;
    if (page.last === undefined || page.last.time < right.since) return undefined;
    const allowed = await this.#ask({ actor: user, ...this.#conditionsOf(right) }, allowedEvents, page.last);
    return allowed === undefined ? notAllSeen : (allowed.events.find(isUse) ?? (allowed.last === undefined ? undefined : notAllSeen));
  }

  /** Returns a page of events, undefined once the answer has asked enough. */
  async #ask(filter: AuditFilter, limit: number, before?: AuditPlace): Promise<Page | undefined> {
    const { store, from, signal } = this.#options;
    signal.throwIfAborted();
    this.#questions += 1;
    if (this.#questions > maxQuestions) return undefined;
    return await store.list({ ...filter, outcome: 'success', from }, { limit, before });
  }

  #isUse(event: AuditEvent, user: string, { binding, rules, since }: Right): boolean {
    const { impersonatedUser, dryRun } = event;
    if (impersonatedUser !== undefined || dryRun || Date.parse(event.requestReceivedTimestamp) < since) return false;
    if (this.#isOwn(event, user)) return false;
    return usedRights(event, this.#options.serviceNamespace).some(
      (right) => (binding.namespace === '' || binding.namespace === right.namespace) && rules.some((rule) => givesRight(rule, right)),
    );
  }

  /** Reports whether the service lets users do this to what is theirs. */
  #isOwn({ event = '', objectRef, access }: AuditEvent, user: string): boolean {
    if (event === 'AccessEnded') return access?.requester === user;
    return freeOnOwn.has(event) && objectRef.name !== undefined && objectRef.name === this.#options.recordOf(user);
  }

  /** Returns conditions for the events that may be uses of bindings in the namespace to which the caller is limited. */
  get #limit(): Partial<AuditFilter> {
    const { namespace, serviceNamespace } = this.#options;
    return namespace === undefined ? {} : { anyOf: linesIn(namespace, [everything], serviceNamespace) };
  }

  /** Returns conditions for all events that the rules allow. Conditions of many resources are left out: most events meet them. */
  #conditionsOf({ binding: { namespace }, rules }: Right): Partial<AuditFilter> {
    const { serviceNamespace } = this.#options;
    if (namespace !== '') return { anyOf: linesIn(namespace, rules, serviceNamespace) };
    const resources = resourceLines(rules);
    const isFound = ({ apiGroup, resource }: Line) =>
      resources.some((line) => (line.apiGroup ?? apiGroup) === apiGroup && (line.resource ?? resource) === resource);
    const others = eventLines(rules, '', serviceNamespace).filter((line) => !isFound(line));
    const lines = [...resources, ...others.map(({ event }) => ({ event }))];
    return lines.length > 0 && lines.length <= maxLines && !resources.some(isEmpty) ? { anyOf: lines } : {};
  }
}

type Page = Awaited<ReturnType<AuditStore['list']>>;

interface Right {
  binding: RoleBinding;
  rules: readonly PolicyRule[];
  /** Begin of the period, or creation of the binding, in milliseconds since the epoch. */
  since: number;
}

/** Returns a use that cannot be told. */
export const unknown = (reason: UnknownReason): StandingUse => ({ state: 'Unknown', reason });

const shown = ({ auditID, verb, objectRef, requestReceivedTimestamp, user }: AuditEvent) => ({
  ...{ auditID, verb, objectRef, requestReceivedTimestamp },
  user: user?.username ?? '',
});

/** Reports whether the API server has allowed a request by a binding: the API server names the first of all that do. */
function isAllowedBy({ annotations }: AuditEvent, { kind, name, namespace }: RoleBinding): boolean {
  const place = JSON.stringify(namespace === '' ? name : `${name}/${namespace}`);
  return annotations?.['authorization.k8s.io/reason']?.startsWith(`RBAC: allowed by ${kind} ${place} of `) === true;
}

/** Returns the newest event of each user. */
function newestOfEach(events: readonly AuditEvent[]): AuditEvent[] {
  const newest = new Map<string, AuditEvent>();
  for (const event of events) {
    const user = event.user?.username ?? '';
    const known = newest.get(user);
    if (known === undefined || known.requestReceivedTimestamp < event.requestReceivedTimestamp) newest.set(user, event);
  }
  return [...newest.values()];
}

/** Reports whether the audit records a request that the rule allows. A WebSocket opens a shell with the verb `get`. */
const isRecorded = ({ verbs, resources }: PolicyRule): boolean =>
  resources.length > 0 && (verbs.some((verb) => recordedVerbs.has(verb)) || resources.some(isAlwaysRecorded));

const isAlwaysRecorded = (resource: string): boolean =>
  recordedReads.has(resource) || runningSubresources.includes(resource.split('/')[1] ?? '');

const everything: PolicyRule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [], nonResourceURLs: [] };

type Line = NonNullable<AuditFilter['anyOf']>[number];

const isEmpty = (line: Line) => Object.keys(line).length === 0;

/** Returns conditions for requests that the rules allow. */
function resourceLines(rules: readonly PolicyRule[]): Line[] {
  const lines = new Map<string, Line>();
  for (const { apiGroups, resources } of rules.filter(isRecorded))
    for (const apiGroup of apiGroups)
      for (const combined of resources) {
        const [resource = ''] = combined.split('/');
        const line = { ...(apiGroup !== '*' && { apiGroup }), ...(resource !== '*' && { resource }) };
        lines.set(JSON.stringify(line), line);
      }
  return [...lines.values()];
}

/** Returns conditions for events that the rules may allow in a namespace. Not all of them have it: a Namespace has none, for one. */
function linesIn(namespace: string, rules: readonly PolicyRule[], serviceNamespace: string): Line[] {
  const resources = resourceLines(rules).map((line) => ({ ...line, namespace }));
  const isAboutNamespace = rules.some(
    (rule) => ['', '*'].some((group) => rule.apiGroups.includes(group)) && ['namespaces', '*'].some((one) => namesResource(rule, one)),
  );
  const others: Line[] = [
    ...(isAboutNamespace ? [{ apiGroup: '', resource: 'namespaces', name: namespace }] : []),
    ...eventLines(rules, namespace, serviceNamespace).map(({ event }) => ({ event })),
  ];
  return resources.length > 0 && resources.length + others.length <= maxLines ? [...resources, ...others] : [{ namespace }, ...others];
}

const namesResource = ({ resources }: PolicyRule, name: string): boolean => resources.some((one) => one.split('/')[0] === name);
