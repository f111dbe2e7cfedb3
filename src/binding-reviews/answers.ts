/** Answers of owners about bindings. The rights of the owner decide: to keep a binding takes the right to change it. */
import type { Caller } from '@atrium/http/caller.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { roleBindingOf } from '@atrium/kubernetes/rbac/role-bindings.ts';
import { CallerResource } from '@atrium/kubernetes/resource-client.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { forbidden, invalidValue, required } from '@atrium/objects/field-error.ts';
import { conflict, invalid, notFound, StatusError } from '@atrium/objects/status.ts';
import { bindingWrites } from '../bindings/definition.ts';
import { managedKind } from '../bindings/role-binding.ts';
import { userBindingKind } from '../bindings/schema.ts';
import { userBindingOf } from '../explorer/rights.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import type { ReviewContext } from './context.ts';
import { type Answer, bindingReviewResource, maxAnswers, type NewAnswer, type ReviewRow } from './review.ts';
import { ownershipOf, type Reviewed, reviewedBindings, versionOf } from './reviewed.ts';
import { readReview, writeReview } from './status-writer.ts';
import { requireVisible, rightIn } from './strategy.ts';

/** Each conflict is the answer of another owner, or a write of the leader. */
const bounds = { attempts: 20, pauseMs: 50 };

const decided = { Keep: 'Kept', Shorten: 'Shortened', End: 'Ended' } as const satisfies Record<NewAnswer['decision'], string>;

/** Longest time that a shortened binding holds. */
const maxShortenedMs = 366 * 86_400_000;

interface Given {
  readonly name: string;
  readonly body: NewAnswer;
  /** Called once the answer has taken effect, also if the status cannot be written. */
  readonly onAnswered: (row: ReviewRow, reviewed: Reviewed, answer: Answer) => void;
}

/**
 * Keeps or ends a binding of a review, with the rights of the caller.
 *
 * @throws StatusError 401, 403, 404, 409, 503, 504; UpstreamError in the words of the API server
 */
export async function answerReview(
  context: ReviewContext,
  { name, body, onAnswered }: Given,
  caller: Caller,
  signal: AbortSignal,
): Promise<ReviewRow> {
  const { services } = context;
  requireNoAccessToken('accessDecisions', caller);
  services.rbac.requireRecent();
  await context.reviews.lister.whenReady(signal);
  const row = await requireVisible(context, await readReview(context, name, signal), { name, caller }, signal);
  const until = requireUntil(services.now(), body);
  const reviewed = await requireReviewed(context, row, body);
  const ownership = ownershipOf(context, reviewed.binding, caller);
  if (body.decision === 'End') await endBinding(context, reviewed, caller, signal);
  else await requireKeeper(context, reviewed, { caller, ownership }, signal);
  if (until !== undefined) await shortenBinding(context, reviewed, { caller, until }, signal);
  const answer: Answer = {
    ...{ name: body.name, version: body.version, decision: decided[body.decision] },
    by: caller.identity.name,
    ...(ownership !== undefined && { isOwn: true }),
    ...(until !== undefined && { until }),
    time: timestamp(services.now()),
  };
  if (answer.decision !== 'Kept') onAnswered(row, reviewed, answer);
  const written = await addAnswer(context, row, answer, signal);
  if (answer.decision === 'Kept') onAnswered(row, reviewed, answer);
  return written;
}

/** Returns the binding as the caller saw it. @throws StatusError 404, 409 */
async function requireReviewed(context: ReviewContext, row: ReviewRow, { name, version }: NewAnswer): Promise<Reviewed> {
  if (row.status.round === undefined) throw refused(row, 'the review has not begun');
  const all = await reviewedBindings(context, row);
  if (all.length > maxAnswers) throw refused(row, `the review is about more than ${maxAnswers} bindings`);
  const reviewed = all.find(({ binding }) => binding.name === name);
  if (reviewed === undefined) throw notFound(managedKind(row.place).type, name);
  if (reviewed.version !== version) throw changed(row, name);
  return reviewed;
}

interface Keeper {
  caller: Caller;
  ownership: 'user' | 'group' | undefined;
}

/** @throws StatusError 401, 403, 503, 504 */
async function requireKeeper(
  { services: { access, config, now } }: ReviewContext,
  { binding: { namespace, name } }: Reviewed,
  { caller, ownership }: Keeper,
  signal: AbortSignal,
): Promise<void> {
  await access.require(caller, rightIn(namespace, 'update', name), signal);
  if (ownership === 'user') {
    const message = 'a binding that names you is kept by another owner; you may end it';
    throw new StatusError(403, 'Forbidden', `bindingreviews.auth.platform.io is forbidden: User "${caller.identity.name}": ${message}`, {
      details: { group: bindingReviewResource.group, kind: bindingReviewResource.resource, causes: [{ reason: 'OwnBinding', message }] },
    });
  }
  requireRecentLogin('accessDecisions', caller, config.login.stepUp, now());
}

/** Returns the end of a binding that is shortened. @throws StatusError 422 */
function requireUntil(now: Date, { name, decision, until }: NewAnswer): string | undefined {
  const about = { group: bindingReviewResource.group, kind: 'BindingReview', name };
  if (decision !== 'Shorten') {
    if (until !== undefined) throw invalid(about, [forbidden('until', 'is the end of a binding that is shortened')]);
    return undefined;
  }
  if (until === undefined) throw invalid(about, [required('until', 'is the end of the binding')]);
  const ahead = Date.parse(until) - now.getTime();
  if (ahead <= 0 || ahead > maxShortenedMs) throw invalid(about, [invalidValue('until', until, 'must be ahead, and by a year at most')]);
  return timestamp(new Date(until));
}

/** Gives the UserBinding of a binding an end. @throws UpstreamError in the words of the API server; StatusError 409, 422 */
async function shortenBinding(
  context: ReviewContext,
  { binding }: Reviewed,
  { caller, until }: { caller: Caller; until: string },
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, userBinding } = binding;
  const kind = managedKind(namespace);
  if (userBinding === undefined || context.userBindings === undefined) {
    const about = { group: kind.type.group, kind: kind.kind, name };
    throw invalid(about, [forbidden('decision', 'only a UserBinding has an end: replace the binding by access requests')]);
  }
  const owner = userBindingOf(context, binding);
  if (owner === undefined) throw conflict(kind.type, name, bindingChanged);
  const resource = new CallerResource(context.services.apiServer.asCaller(caller), userBindingKind);
  // The uid is a precondition.
  await resource.patch(userBinding, { metadata: { uid: owner.uid }, spec: { expiresAt: until } }, { signal });
}

/** Deletes the binding as the caller saw it, or its UserBinding. @throws UpstreamError in the words of the API server; StatusError */
async function endBinding(context: ReviewContext, { binding, version }: Reviewed, caller: Caller, signal: AbortSignal): Promise<void> {
  const { services, userBindings } = context;
  const { kind, namespace, name, userBinding } = binding;
  if (userBinding !== undefined && userBindings !== undefined) {
    const owner = userBindingOf(context, binding);
    if (owner === undefined) throw conflict(managedKind(namespace).type, name, bindingChanged);
    const deletion = { name: userBinding, preconditions: { uid: owner.uid }, isDryRun: false, asCaller: true };
    await bindingWrites(services, userBindings.cache).delete(deletion, caller, signal);
    return;
  }
  const resource = new CallerResource(services.apiServer.asCaller(caller), managedKind(namespace));
  const object = await resource.get(name, signal);
  if (versionOf(context, roleBindingOf(object, kind, true)) !== version) throw conflict(managedKind(namespace).type, name, bindingChanged);
  const { uid, resourceVersion } = object.metadata;
  await resource.delete(name, { signal, preconditions: { uid, resourceVersion } });
}

/** @throws StatusError 409, 503, 504 */
async function addAnswer(
  context: ReviewContext,
  { name, uid, status }: ReviewRow,
  answer: Answer,
  signal: AbortSignal,
): Promise<ReviewRow> {
  const attempt = async () => {
    const row = await readReview(context, name, signal);
    if (row?.uid !== uid || row.status.round !== status.round)
      throw conflict(bindingReviewResource, name, 'another round of the review has begun');
    const isEnding = row.status.answers?.some((other) => other.version === answer.version && other.by === undefined);
    if (answer.decision === 'Kept' && isEnding) throw refused(row, 'the time for answers is over, and the service ends the binding');
    // The event of another answer tells what it did to the binding.
    const options = { signal, isAudited: answer.decision === 'Kept' };
    const written = await writeReview(context, row, { answers: withAnswer(row.status.answers ?? [], answer) }, options);
    return written === 'conflict' ? undefined : written;
  };
  const written = await retryOnConflict(attempt, signal, bounds);
  if (written !== undefined) return written;
  throw conflict(bindingReviewResource, name, 'concurrent changes of the review prevented this answer, try again', 1);
}

/** Returns the answers with one more. Beyond the bound, the oldest answer about an ended binding is left out. */
export function withAnswer(answers: readonly Answer[], answer: Answer): Answer[] {
  const others = answers.filter(({ name }) => name !== answer.name);
  const dropped = others.length < maxAnswers ? undefined : others.find(({ decision }) => decision !== 'Kept');
  return [...others.filter((other) => other !== dropped), answer];
}

const bindingChanged = 'the binding has changed since you saw it: look at it again';

const changed = ({ place }: ReviewRow, name: string): StatusError => conflict(managedKind(place).type, name, bindingChanged);

const refused = ({ name }: ReviewRow, why: string): StatusError => conflict(bindingReviewResource, name, why);
