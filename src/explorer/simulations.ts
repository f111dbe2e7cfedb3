/** Simulations: what subjects would gain and lose by changes, and which of the changes the caller may not make. */
import { callerKey } from '@atrium/http/caller.ts';
import { ConcurrencyLimit } from '@atrium/http/limits/concurrency-limit.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { type Difference, differences, TooManyTuples, type Tuple } from '@atrium/kubernetes/rbac/difference.ts';
import { describedSubject } from '@atrium/kubernetes/rbac/grants.ts';
import type { BoundSubject } from '@atrium/kubernetes/rbac/role-bindings.ts';
import { CallerResource, type ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import { badRequest, forbidden, invalid, StatusError } from '@atrium/objects/status.ts';
import { bindingWrites } from '../bindings/definition.ts';
import { GroupMembers } from '../groups/members.ts';
import { requireSensitiveWrite } from '../step-up/sensitive-writes.ts';
import { userResource } from '../users/record/schema.ts';
import { type Asking, type ExplorerContext, requireBindings, requireClusterBindings, requireRoles, VisibleRoles } from './rights.ts';
import { SimulatedChanges } from './simulated-changes.ts';
import {
  type AccessTuple,
  type Deletion,
  type MemberChange,
  maxSubjects,
  maxTuples,
  type Refusal,
  type RoleChange,
  type SimulatedChange,
  type SimulatedItem,
  type Simulation,
  type SimulationRequest,
} from './simulation-schema.ts';
import { type ResolvedSubject, resolve, subjectOf } from './subject-rules.ts';

const simulationResource = { group: userResource.group, resource: 'simulations' };

/** Bindings of all subjects, which are read without a pause. */
const maxBindings = 20_000;

export class Simulations {
  readonly #context: ExplorerContext;
  readonly #limit = new ConcurrencyLimit({ maxEach: 2, maxInAll: 8, what: 'simulations' });

  constructor(context: ExplorerContext) {
    this.#context = context;
    reportRefusals(context.services.metrics, 'simulations', this.#limit);
  }

  /**
   * @returns the simulation, and the namespace to which the right of the caller is limited
   * @throws StatusError 400, 403, 422, 429, 503, 504
   */
  async run(request: SimulationRequest, asking: Asking): Promise<{ simulation: Simulation; namespace: string | undefined }> {
    const { access } = this.#context.services;
    const { caller, signal } = asking;
    const right = { ...simulationResource, verb: 'create' };
    const place = placeOf(request.changes);
    const isLimited = place !== undefined && !(await access.can(caller, right, signal));
    await access.require(caller, { ...right, ...(isLimited && { namespace: place }) }, signal);
    const namespace = isLimited ? place : undefined;
    const end = this.#limit.begin(callerKey(caller));
    try {
      return { simulation: await this.#run(request, namespace, asking), namespace };
    } finally {
      end();
    }
  }

  /** @param place namespace whose RoleBindings alone are compared; undefined for all bindings */
  async #run({ changes, subjects: named }: SimulationRequest, place: string | undefined, asking: Asking): Promise<Simulation> {
    const context = this.#context;
    const { rbac } = context.services;
    await requireBindings(context.services, place, asking);
    if (place === undefined) {
      await requireClusterBindings(context.services, asking);
      await requireRoles(context.services, asking);
    }
    rbac.requireRecent();
    const { resourceVersion } = rbac;
    const simulated = await SimulatedChanges.of(context, changes, asking.signal);
    const subjects = named?.map((subject, index) => givenSubject(subject, index)) ?? simulated.subjects;
    if (subjects.length > maxSubjects) throw refused('subjects', 'FieldValueTooMany', `must hold at most ${maxSubjects} subjects`);
    const resolved: ResolvedSubject[] = [];
    for (const subject of subjects) {
      if (place === undefined) await requireUser(context, subject, asking);
      resolved.push(await resolve(context, subject, asking));
    }
    const views = { before: rbac, after: simulated.rbac };
    const shown = place === undefined ? undefined : await viewsIn(context, place, views, asking);
    const found = await this.#compare(shown ?? views, simulated, resolved);
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'Simulation',
      resourceVersion,
      complete: place === undefined && resolved.every(({ hasGroups }) => hasGroups),
      ...(place !== undefined && shown && { namespace: place, rolesHidden: shown.rolesHidden }),
      items: resolved.map((subject, index) => itemOf(subject, found[index] ?? { gained: [], lost: [] })),
      refusals: await dryRuns(context, changes, asking),
    };
  }

  async #compare(views: Views, simulated: SimulatedChanges, subjects: readonly ResolvedSubject[]): Promise<Difference[]> {
    const { users } = this.#context;
    const compared = subjects.map(({ subject, who, hasGroups }) => {
      const record = subject.kind === 'User' && hasGroups ? users.accounts.ofSubject(subject.name)?.name : undefined;
      return { before: who, after: record === undefined ? who : { ...who, groups: simulated.groupsAfter(record, who.groups) } };
    });
    try {
      return await differences(views, compared, { maxTuples, maxBindings });
    } catch (error) {
      if (!(error instanceof TooManyTuples)) throw error;
      throw refused('subjects', 'FieldValueTooMany', `the rules of the subjects are more than ${maxTuples} tuples: name fewer subjects`);
    }
  }
}

/** Returns the namespace of changes that only delete its RoleBindings. */
function placeOf(changes: readonly SimulatedChange[]): string | undefined {
  const places = new Set(
    changes.map((change) => (change.type === 'delete' && change.kind === 'RoleBinding' ? change.namespace : undefined)),
  );
  return places.size === 1 ? [...places][0] : undefined;
}

type View = Parameters<typeof differences>[0]['before'];

interface Views {
  before: View;
  after: View;
}

/** Returns the RoleBindings of a namespace with the roles that the caller may get. @throws StatusError 429, 503, 504 */
async function viewsIn({ services }: ExplorerContext, place: string, { before, after }: Views, asking: Asking) {
  const roles = new VisibleRoles(services, asking);
  const bindings = [...services.rbac.bindingsIn(place)];
  await roles.review(bindings);
  const within = (view: View): View => ({
    bindingsOf: (subject) => view.bindingsOf(subject).filter(({ namespace }) => namespace === place),
    roleOf: (binding) => (roles.has(binding) ? view.roleOf(binding) : undefined),
  });
  return { before: within(before), after: within(after), rolesHidden: bindings.some((binding) => !roles.has(binding)) };
}

function givenSubject({ kind, name, namespace }: NonNullable<SimulationRequest['subjects']>[number], index: number): BoundSubject {
  if (kind === 'Group') return { kind, name };
  if (kind === 'User') return subjectOf({ user: name });
  if (namespace === undefined) throw refused(`subjects[${index}].namespace`, 'FieldValueRequired', 'Required value');
  return subjectOf({ serviceaccount: `${namespace}/${name}` });
}

const refused = (field: string, reason: string, message: string) =>
  invalid({ group: userResource.group, kind: 'Simulation', name: '' }, [{ field, reason, message }]);

/** Requires the right to know the groups of a user. The refusal is the same for users with and without a record. */
async function requireUser({ services, users }: ExplorerContext, subject: BoundSubject, { caller, signal }: Asking): Promise<void> {
  if (subject.kind !== 'User') return;
  const right = { ...userResource, subresource: 'roles', verb: 'get' };
  const record = users.accounts.ofSubject(subject.name)?.name;
  const isAllowed = await services.access.can(caller, { ...right, ...(record !== undefined && { name: record }) }, signal);
  if (!isAllowed) throw forbidden({ ...right, user: caller.identity.name });
}

function itemOf({ subject, hasGroups, isMaster }: ResolvedSubject, { gained, lost }: Difference): SimulatedItem {
  return {
    subject: describedSubject(subject),
    gained: gained.map(tupleOf),
    lost: lost.map(tupleOf),
    warnings: [
      ...(isMaster ? ['SystemMasters' as const] : []),
      ...(hasGroups ? [] : ['GroupsUnknown' as const]),
      ...(gained.some(isEscalation) ? ['Escalation' as const] : []),
      ...(gained.some(readsSecrets) ? ['Secrets' as const] : []),
    ],
  };
}

function tupleOf({ namespace, part, verbs }: Tuple): AccessTuple {
  if ('path' in part) return { verbs: [...verbs], namespace, path: part.path };
  const { group, resource, name } = part;
  return { verbs: [...verbs], namespace, group, resource, ...(name !== '' && { name }) };
}

/** Verbs by which the API server lets a caller gain further rights. */
const escalating = ['bind', 'escalate', 'impersonate'];
const escalatingResources = ['*', 'roles', 'clusterroles', 'users', 'groups', 'serviceaccounts'];

const isEscalation = ({ part, verbs }: Tuple): boolean =>
  'resource' in part &&
  (verbs.some((verb) => escalating.includes(verb)) || (verbs.includes('*') && escalatingResources.includes(part.resource)));

const readsSecrets = ({ part, verbs }: Tuple): boolean =>
  'resource' in part &&
  ['', '*'].includes(part.group) &&
  ['secrets', '*'].includes(part.resource) &&
  verbs.some((verb) => ['get', 'list', 'watch', '*'].includes(verb));

const plurals = {
  RoleBinding: 'rolebindings',
  ClusterRoleBinding: 'clusterrolebindings',
  Role: 'roles',
  ClusterRole: 'clusterroles',
} as const;

/**
 * Sends the changes as dry runs, with the rights of the caller.
 *
 * @returns the changes that the API server would refuse
 * @throws StatusError 429, 503, 504
 */
async function dryRuns(context: ExplorerContext, changes: readonly SimulatedChange[], asking: Asking): Promise<Refusal[]> {
  const refusals: Refusal[] = [];
  for (const [change, asked] of changes.entries()) {
    try {
      await dryRun(context, asked, asking);
    } catch (error) {
      if (!(error instanceof StatusError) || error.status.code >= 500 || error.status.code === 429) throw error;
      const { code, reason = '', message } = error.status;
      refusals.push({ change, code, reason, message });
    }
  }
  return refusals;
}

function dryRun(context: ExplorerContext, change: SimulatedChange, asking: Asking): Promise<unknown> {
  const { services, userBindings } = context;
  const { caller, signal } = asking;
  if (change.type === 'role') return dryRunRole(context, change, asking);
  if (change.type === 'member') return dryRunMember(context, change, asking);
  if (change.type === 'delete') return dryRunDeletion(context, change, asking);
  const request = { body: change.userBinding, isDryRun: true, fieldValidation: 'Strict' as const };
  return userBindings ? bindingWrites(services, userBindings.cache).create(request, caller, signal) : featureOff('userBindings');
}

async function dryRunMember({ services, groups, users }: ExplorerContext, change: MemberChange, { caller, signal }: Asking): Promise<void> {
  if (groups === undefined) return featureOff('groups');
  const members = new GroupMembers({ services, groups, accounts: users.accounts });
  const { items } = await members.change(
    { group: change.group, names: [change.user], action: change.action, isDryRun: true },
    caller,
    signal,
  );
  for (const { status, code, reason = '', message = '' } of items)
    if (status === 'Failure') throw new StatusError(code, reason === 'NotFound' ? 'NotFound' : 'Invalid', message);
}

async function dryRunRole({ services }: ExplorerContext, { role }: RoleChange, { caller, signal }: Asking): Promise<void> {
  const { kind, metadata, rules } = role;
  const namespace = kind === 'Role' ? (metadata.namespace ?? '') : '';
  requireSensitiveWrite('bindings', caller, services.config.login.stepUp, services.now());
  const roles = new CallerResource(services.apiServer.asCaller(caller), kindOf(kind, namespace));
  const options = { isDryRun: true, signal };
  if (services.rbac.role(namespace, metadata.name) === undefined) {
    await roles.create({ apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata, rules }, options);
    return;
  }
  const { labels } = metadata;
  await roles.patch(metadata.name, { ...(labels && { metadata: { labels } }), rules }, options);
}

function dryRunDeletion(
  { services, userBindings }: ExplorerContext,
  { kind, name, namespace = '' }: Deletion,
  { caller, signal }: Asking,
): Promise<unknown> {
  if (kind !== 'UserBinding')
    return new CallerResource(services.apiServer.asCaller(caller), kindOf(kind, namespace)).delete(name, { isDryRun: true, signal });
  if (userBindings === undefined) return featureOff('userBindings');
  return bindingWrites(services, userBindings.cache).delete({ name, isDryRun: true, asCaller: true }, caller, signal);
}

const kindOf = (kind: keyof typeof plurals, namespace: string): ResourceKind => ({
  type: { group: 'rbac.authorization.k8s.io', version: 'v1', resource: plurals[kind] },
  kind,
  ...(!kind.startsWith('Cluster') && { namespace }),
});

const featureOff = (feature: string) => Promise.reject(badRequest(`features.${feature} is disabled`));
