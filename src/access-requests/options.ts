/** Roles that a caller may ask for to get one right. The answer is made from policies that let the caller ask. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Caller } from '@atrium/http/caller.ts';
import { compareWidths, type ResourceQuestion, ruleAllows, rulesWidth } from '@atrium/kubernetes/rbac/rules.ts';
import type { RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import { sortInSlices } from '@atrium/lists/sort.ts';
import { parseLabelSelector } from '@atrium/objects/selectors.ts';
import type { Account } from '../users/record/account.ts';
import type { AccessContext } from './context.ts';
import type { PolicyRow } from './policy.ts';
import type { RequestRow, RequestSpec } from './request.ts';
import { coversByName, isInTime, labelsOf } from './standing.ts';
import { isOwn } from './visible.ts';

const maxItems = 20;

type Place = Pick<RequestSpec, 'scope' | 'namespaces'>;

/** A role of a policy, and the place for which it would give the right. */
interface Offer {
  readonly policy: PolicyRow;
  readonly role: string;
  readonly width: readonly number[];
  readonly place: Place;
}

interface OpenRequest extends RequestRow {
  readonly spec: RequestSpec;
}

interface AccessOptions {
  readonly allowed: boolean;
  /** The least rights first. */
  readonly items: readonly Offer[];
  readonly open: readonly OpenRequest[];
}

/**
 * Finds the roles that the caller may ask for to get a right, and the caller's open requests for such roles.
 *
 * @throws StatusError 503, 504, and refusals of the review by the API server
 */
export async function accessOptions(
  context: AccessContext,
  question: ResourceQuestion,
  caller: Caller,
  signal: AbortSignal,
): Promise<AccessOptions> {
  const { services, people, policies, requests } = context;
  people.requireCurrent();
  services.rbac.requireSynced();
  await Promise.all([policies, requests].map(({ lister }) => lister.whenReady(signal)));
  const { allowed, denied = false } = await services.access.review(caller, { resourceAttributes: question }, signal);
  const account = people.normal(caller);
  if (account === undefined) return { allowed, items: [], open: [] };
  const fitting = policiesFor(context, question, account);
  const near = openRequests(context, question, account);
  const names = new Set([...fitting.flatMap(({ policy }) => policy.roleRefs), ...near.map(({ spec }) => spec.roleRef)]);
  const widths = await widthsOfAllowing(services.rbac, question, names);
  const open = near.filter(({ spec }) => widths.has(spec.roleRef));
  // RBAC gives no right that another authorizer denies.
  if (allowed || denied) return { allowed: allowed && !denied, items: [], open };
  // Break-glass may be used beside an ordinary request.
  const isAsked = ({ policy, role, place }: Offer) =>
    open.some(
      ({ spec }) =>
        spec.policy.uid === policy.uid && spec.roleRef === role && isSamePlace(spec, place) && (spec.breakGlass || !policy.breakGlass),
    );
  const offers = fitting.flatMap((one) => offersOf(one, widths)).filter((offer) => !isAsked(offer));
  const selected = await selectedOf(context, offers, question, signal);
  return { allowed, items: (await sortInSlices(selected, byRights)).slice(0, maxItems), open };
}

/** A policy that lets the caller ask, and the places of the question that it covers. */
interface FittingPolicy {
  readonly policy: PolicyRow;
  readonly places: readonly Place[];
}

function policiesFor({ policies, people }: AccessContext, { namespace }: ResourceQuestion, account: Account): FittingPolicy[] {
  const person = people.of(account);
  const asked: Place[] = [...(namespace === '' ? [] : [{ scope: 'namespace' as const, namespaces: [namespace] }]), { scope: 'platform' }];
  const fitting: FittingPolicy[] = [];
  for (const policy of policies.cache.values()) {
    const places = policy.isReady ? asked.filter((place) => coversByName(policy, place)) : [];
    if (places.length > 0 && person.subjectOf(policy) !== undefined) fitting.push({ policy, places });
  }
  return fitting;
}

/** Rules that are compared in less than a few milliseconds. */
const sliceLength = 4096;

/** Returns the widths of the ClusterRoles whose rules allow the question, by name. Compares them in turns of the event loop. */
async function widthsOfAllowing(
  rbac: Pick<RbacWatch, 'clusterRoleRules'>,
  question: ResourceQuestion,
  names: Iterable<string>,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const widths = new Map<string, readonly number[]>();
  let compared = 0;
  for (const name of names) {
    const rules = rbac.clusterRoleRules(name) ?? [];
    if (rules.some((rule) => ruleAllows(rule, question))) widths.set(name, rulesWidth({ rules }));
    compared += rules.length;
    if (compared < sliceLength) continue;
    compared = 0;
    await yieldToEventLoop();
  }
  return widths;
}

function offersOf({ policy, places }: FittingPolicy, widths: ReadonlyMap<string, readonly number[]>): Offer[] {
  return policy.roleRefs.flatMap((role) => {
    const width = widths.get(role);
    return width === undefined ? [] : places.map((place) => ({ policy, role, width, place }));
  });
}

/** Leaves out offers of policies whose selector does not select the namespace. A namespace that does not exist is selected by none. */
async function selectedOf(
  { services }: AccessContext,
  offers: readonly Offer[],
  { namespace }: ResourceQuestion,
  signal: AbortSignal,
): Promise<Offer[]> {
  if (offers.every(({ policy }) => policy.scope?.kind !== 'selector')) return [...offers];
  const labels = await labelsOf(services, namespace, signal);
  return offers.filter(
    ({ policy: { scope } }) => scope?.kind !== 'selector' || (labels !== undefined && isSelected(scope.labelSelector, labels)),
  );
}

function isSelected(labelSelector: string, labels: Readonly<Record<string, string>>): boolean {
  try {
    return parseLabelSelector(labelSelector)(labels);
  } catch {
    // The API server refuses a request under such a policy.
    return false;
  }
}

/** Returns the caller's open requests for the place of the question. */
function openRequests(context: AccessContext, { namespace }: ResourceQuestion, account: Account): OpenRequest[] {
  const found: OpenRequest[] = [];
  for (const row of context.requests.cache.values()) {
    const { spec } = row;
    if (spec === undefined || !isInTime(context, row) || !isOwn(row, account)) continue;
    if (spec.scope === 'platform' || spec.namespaces?.includes(namespace) === true) found.push({ ...row, spec });
  }
  return found;
}

const isSamePlace = (left: Place, right: Place): boolean =>
  left.scope === right.scope && String(left.namespaces ?? []) === String(right.namespaces ?? []);

/** Sorts the least rights first: the narrower role, then a namespace before the platform, then fewer approvals. */
function byRights(left: Offer, right: Offer): number {
  const scopes = Number(left.place.scope === 'platform') - Number(right.place.scope === 'platform');
  const names = `${left.role} ${left.policy.name}` < `${right.role} ${right.policy.name}` ? -1 : 1;
  return compareWidths(left.width, right.width) || scopes || left.policy.approvals - right.policy.approvals || names;
}
