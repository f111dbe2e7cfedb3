import { timestamp } from '@atrium/kubernetes/clock.ts';
import { Controller, type Source, type Term } from '@atrium/kubernetes/controllers/controller.ts';
import type { Outcome } from '@atrium/kubernetes/controllers/work-queue.ts';
import { changedStatus } from '@atrium/kubernetes/object-status.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import type { UserBindingRow } from '../bindings/row.ts';
import { userBindingKind } from '../bindings/schema.ts';
import { userBindingOf } from '../explorer/rights.ts';
import { withAnswer } from './answers.ts';
import type { ReviewContext } from './context.ts';
import { type Answer, maxAnswers, type Reminded, type ReviewRow, type ReviewStatus } from './review.ts';
import { type Reviewed, reviewedBindings } from './reviewed.ts';
import { readReview, writeReview } from './status-writer.ts';

const workers = 2;
/** Time after which the bindings of a review are counted again. No change of a binding wakes the controller up. */
const lookMs = 10_000;
/** Parts of the time for answers after which owners are reminded. */
const remindedAt = [0, 0.5, 0.9] as const;

/** Tells owners about the bindings that wait for them. */
export type Remind = (row: ReviewRow, open: number, signal: AbortSignal) => Promise<Reminded>;

/** Begins rounds, reminds owners, and ends unanswered UserBindings. Only the leader does so. */
export const reviewController = (context: ReviewContext, remind: Remind): Controller =>
  new Controller(context.services, {
    name: 'atrium-binding-reviews',
    workers,
    begin: () => new ReviewTerm(context, remind),
  });

const noReminders = { reminders: 0, reminderAttempts: 0, reminderFailure: null };

class ReviewTerm implements Term, Source {
  readonly sources = [this];
  readonly #context: ReviewContext;
  readonly #remind: Remind;

  constructor(context: ReviewContext, remind: Remind) {
    this.#context = context;
    this.#remind = remind;
  }

  onChange(enqueue: (name: string) => void): () => void {
    return this.#context.reviews.cache.onChange(({ key }) => enqueue(key));
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    const { reviews, userBindings, users, services } = this.#context;
    await Promise.all(
      [reviews.cache, userBindings?.cache, users.accounts.watch, services.rbac].map((followed) => followed?.whenSynced(signal)),
    );
  }

  *keys(): Iterable<string> {
    for (const { name } of this.#context.reviews.cache.values()) yield name;
  }

  async reconcile(name: string, signal: AbortSignal): Promise<Outcome> {
    if (this.#context.reviews.cache.get(name) === undefined) return 'done';
    this.#context.services.rbac.requireRecent();
    const row = await readReview(this.#context, name, signal);
    if (row?.spec === undefined) return 'done';
    return isNewRound(row, this.#now()) ? this.#begin(row, row.spec.answerSeconds, signal) : this.#continue(row, signal);
  }

  onFailure(name: string, error: unknown): void {
    this.#context.services.log.warn({ bindingReview: name, err: error }, 'reconciliation of a binding review failed');
  }

  async #begin(row: ReviewRow, answerSeconds: number, signal: AbortSignal): Promise<Outcome> {
    const now = this.#now();
    const times = { openedAt: timestamp(new Date(now)), dueAt: timestamp(new Date(now + answerSeconds * 1000)) };
    const status = { phase: 'Open' as const, round: (row.status.round ?? 0) + 1, ...times, ...noReminders, answers: [] };
    // The write wakes the controller up again.
    return (await writeReview(this.#context, row, status, { signal })) === 'conflict' ? 'again' : 'done';
  }

  async #continue(row: ReviewRow, signal: AbortSignal): Promise<Outcome> {
    const reviewed = await reviewedBindings(this.#context, row);
    const unanswered = reviewed.filter(({ answer }) => answer === undefined);
    const isOver = this.#now() >= Date.parse(row.status.dueAt ?? '');
    // A round of which nobody was told ends nothing. After its end, owners are no longer asked about what changes.
    const isEnding = isOver && row.status.phase === 'Open' && reviewed.length <= maxAnswers && (row.status.reminders ?? 0) > 0;
    const due = isEnding ? unanswered.filter((one) => !one.isChanged && this.#endableOwner(row, one.binding) !== undefined) : [];
    if (due.length > 0) return this.#end(row, due, signal);
    const attempted = row.status.reminderAttempts ?? 0;
    const reminderAttempts = isOver ? attempted : remindersDue(row, this.#now());
    const open = unanswered.length;
    const wanted: ReviewStatus = {
      phase: open === 0 ? 'Complete' : isOver ? 'Overdue' : 'Open',
      bindings: reviewed.length,
      open,
      reminderAttempts,
    };
    const changes = changedStatus(row.status, wanted);
    // A reminder is written down before it is sent, so that no owner gets it twice.
    if (changes !== undefined && (await writeReview(this.#context, row, changes, { signal })) === 'conflict') return 'again';
    if (reminderAttempts > attempted && open > 0) await this.#noteReminder(row, await this.#remind(row, open, signal), signal);
    return { requeueAfterMs: Math.max(1, Math.min(lookMs, nextTime(row, reminderAttempts) - this.#now())) };
  }

  async #noteReminder({ name, uid, status: { round } }: ReviewRow, outcome: Reminded, signal: AbortSignal): Promise<void> {
    await retryOnConflict(async () => {
      const row = await readReview(this.#context, name, signal);
      if (row?.uid !== uid || row.status.round !== round) return 'gone';
      const told =
        outcome === 'Sent' ? { reminders: (row.status.reminders ?? 0) + 1, reminderFailure: null } : { reminderFailure: outcome };
      const written = await writeReview(this.#context, row, told, { signal });
      return written === 'conflict' ? undefined : written;
    }, signal);
  }

  /** Deletes unanswered UserBindings. The answers are written first, so that an owner who answers meanwhile wins or is refused. */
  async #end(row: ReviewRow, due: readonly Reviewed[], signal: AbortSignal): Promise<Outcome> {
    const { services, admission } = this.#context;
    await admission.require(signal);
    const time = timestamp(services.now());
    const answers = due.map(({ binding: { name }, version }): Answer => ({ name, version, decision: 'Ended', time }));
    const claim = { answers: answers.reduce(withAnswer, row.status.answers ?? []) };
    if ((await writeReview(this.#context, row, claim, { signal })) === 'conflict') return 'again';
    const target = { name: row.name, uid: row.uid };
    for (const { binding } of due) {
      const owner = this.#endableOwner(row, binding);
      if (owner === undefined) continue;
      const options = { preconditions: { uid: owner.uid, resourceVersion: owner.resourceVersion }, signal };
      const isDeleted = await new ServiceResource(services.client, userBindingKind).remove(owner.name, options);
      if (isDeleted)
        services.audit.record({ audit: 'BindingReviewed', outcome: 'success', target, reason: 'Unanswered', binding: nameOf(binding) });
    }
    return 'again';
  }

  /** Returns the UserBinding of a binding, if the review may end it. */
  #endableOwner(row: ReviewRow, binding: Reviewed['binding']): UserBindingRow | undefined {
    const owner = userBindingOf(this.#context, binding);
    const isOld = Date.parse(binding.creationTimestamp ?? '') <= Date.parse(row.status.openedAt ?? '');
    return row.spec?.unanswered === 'End' && owner !== undefined && isOld && isEndable(row, owner) ? owner : undefined;
  }

  #now(): number {
    return this.#context.services.now().getTime();
  }
}

/** Returns the name of a binding as kubectl shows it. */
export const nameOf = ({ kind, namespace, name }: Reviewed['binding']): string => [kind, namespace, name].filter(Boolean).join('/');

/** Reports whether a UserBinding gives its role in the place of the review alone, since before the round began. */
function isEndable(
  { place, status: { openedAt = '' } }: ReviewRow,
  { scope, namespaces, creationSeconds, isDeleted }: UserBindingRow,
): boolean {
  const isOfPlace = place === '' ? scope === 'platform' : scope === 'namespace' && namespaces.length === 1 && namespaces[0] === place;
  return isOfPlace && !isDeleted && creationSeconds !== undefined && creationSeconds * 1000 <= Date.parse(openedAt);
}

function isNewRound({ spec, status: { round, openedAt = '' } }: ReviewRow, now: number): boolean {
  if (round === undefined) return true;
  return spec?.everySeconds !== undefined && now >= Date.parse(openedAt) + spec.everySeconds * 1000;
}

/** Returns the number of reminders that are due until now. */
const remindersDue = (row: ReviewRow, now: number): number => remindedAt.filter((_part, index) => reminderTime(row, index) <= now).length;

function reminderTime({ status: { openedAt = '', dueAt = '' } }: ReviewRow, index: number): number {
  const [from, to] = [Date.parse(openedAt), Date.parse(dueAt)];
  return from + (to - from) * (remindedAt[index] ?? 1);
}

/** Returns the time of the next reminder, of the end of the round, or of the next round. */
function nextTime(row: ReviewRow, attempts: number): number {
  const { spec, status } = row;
  const next = spec?.everySeconds === undefined ? Number.POSITIVE_INFINITY : Date.parse(status.openedAt ?? '') + spec.everySeconds * 1000;
  const times = [...remindedAt.keys()].slice(attempts).map((index) => reminderTime(row, index));
  const due = Date.parse(status.dueAt ?? '');
  return status.phase === 'Overdue' || status.phase === 'Complete' ? next : Math.min(next, due, ...times);
}
