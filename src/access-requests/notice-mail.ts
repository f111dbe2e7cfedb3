/** Mail to approvers and requesters. No link decides, because mail scanners follow links. */

import type { Outcome } from '../controllers/work-queue.ts';
import { Slices } from '../kubernetes/slices.ts';
import { RateLimit } from '../limits/rate-limit.ts';
import { mapLimit } from '../limits/semaphore.ts';
import { hasAddress, isMailSet, type Mail, sendMail } from '../mail/mailer.ts';
import { type Texts, timeText } from '../texts/texts.ts';
import type { Account } from '../users/record/account.ts';
import type { AccessContext } from './context.ts';
import { type AccessEvent, type AccessEventType, type Digests, NoticeError, type Receiver } from './notices.ts';
import type { RequestRow } from './request.ts';
import { isApproverOf, isOwn } from './visible.ts';
import { requestURL } from './webhooks.ts';

const maxApprovers = 50;
const mailsPerHour = 20;
const oneHourMs = 3_600_000;
const atOnce = 4;

/** Texts and name of the installation. */
export interface Letterhead {
  texts(): Texts;
  title(): string;
}

interface Postponed {
  readonly requests: Set<string>;
  readonly dueAt: number;
}

const toApprovers: readonly AccessEventType[] = ['requested', 'breakglass'];
const toRequester: readonly AccessEventType[] = ['granted', 'denied', 'ended'];
/** Reasons that have a text of their own. */
const endReasons = ['Expired', 'EndedByUser', 'NotDecided', 'PolicyChanged', 'RoleChanged'] as const;
const isEndReason = (reason: string | undefined): reason is (typeof endReasons)[number] => endReasons.some((one) => one === reason);

/** The mail of access requests. Its limits are those of one leader. */
export class AccessMail implements Receiver, Digests {
  readonly name = 'mail';
  readonly prefix = 'mail-';
  /** The mailer itself retries each mail. */
  readonly attemptsAtMs = [0];
  readonly #context: AccessContext;
  readonly #letterhead: Letterhead;
  readonly #limit: RateLimit;
  readonly #postponed = new Map<string, Postponed>();
  #enqueue: (record: string) => void = () => undefined;

  constructor(context: AccessContext, letterhead: Letterhead) {
    const { now } = context.services;
    this.#context = context;
    this.#letterhead = letterhead;
    this.#limit = new RateLimit({ limit: mailsPerHour, windowMs: oneHourMs, clock: () => now().getTime() });
  }

  wants({ type }: AccessEvent, row: RequestRow): boolean {
    if (type === 'requested') return row.phase === 'Pending';
    if (type === 'ended' && row.told.endedBy === row.spec?.requester) return false;
    return toApprovers.includes(type) || toRequester.includes(type);
  }

  async send(event: AccessEvent, row: RequestRow, signal: AbortSignal): Promise<void> {
    const isForApprovers = toApprovers.includes(event.type);
    const accounts = isForApprovers ? await this.#approversOf(row) : this.#requesterOf(row);
    const due = isForApprovers ? accounts.filter((account) => this.#isDue(account, row)) : accounts;
    const failures = await mapLimit(atOnce, due, (account) =>
      this.#mail(this.#mailOf(event, row, account), signal).then(
        () => 0,
        () => 1,
      ),
    );
    signal.throwIfAborted();
    const count = failures.filter(Boolean).length;
    if (count > 0) throw new NoticeError(`${count} of ${due.length} mails were not taken by the mail server`);
  }

  onPostponed(enqueue: (record: string) => void): void {
    this.#enqueue = enqueue;
  }

  /** Mails the number of requests that wait for a user, once the user may get mail again. */
  digest(record: string, signal: AbortSignal): Outcome {
    const { people, requests, services } = this.#context;
    const postponed = this.#postponed.get(record);
    if (postponed === undefined) return 'done';
    if (services.now().getTime() < postponed.dueAt) return { requeueAt: postponed.dueAt };
    this.#postponed.delete(record);
    const account = people.accounts.get(record);
    if (account === undefined || !this.#isReachable(account)) return 'done';
    const person = people.of(account);
    const waiting = [...postponed.requests].filter((name) => {
      const row = requests.cache.get(name);
      return row?.phase === 'Pending' && row.decisions.every((made) => made.record !== record) && isApproverOf(this.#context, row, person);
    });
    if (waiting.length === 0 || this.#limit.take(account.uid) !== undefined) return 'done';
    const texts = this.#letterhead.texts();
    const values = { title: this.#letterhead.title(), count: waiting.length, url: this.#urlOf() };
    const mail = {
      to: account.email,
      subject: texts.t('mail.access.digest.subject', values),
      text: texts.t('mail.access.digest.text', values),
    };
    void this.#mail(mail, signal).catch(() => undefined);
    return 'done';
  }

  /** Reports whether the user gets this mail. Otherwise a digest follows. */
  #isDue({ uid, name }: Account, row: RequestRow): boolean {
    const { metrics, now } = this.#context.services;
    const exceeded = this.#limit.take(uid);
    if (exceeded === undefined) return true;
    const dueAt = now().getTime() + exceeded.retryAfterSeconds * 1000;
    const postponed = this.#postponed.get(name) ?? { requests: new Set(), dueAt };
    postponed.requests.add(row.name);
    this.#postponed.set(name, postponed);
    metrics.accessNotices.inc({ receiver: this.name, outcome: 'digest' });
    this.#enqueue(name);
    return false;
  }

  /** Returns the approvers of the current policy, up to a bound. There may be many users, so the event loop turns meanwhile. */
  async #approversOf(row: RequestRow): Promise<Account[]> {
    const { people, services } = this.#context;
    const found: Account[] = [];
    const slices = new Slices(services.clock);
    for (const account of people.accounts.values()) {
      await slices.end();
      if (!this.#isReachable(account) || isOwn(row, account) || !isApproverOf(this.#context, row, people.of(account))) continue;
      found.push(account);
      if (found.length >= maxApprovers) break;
    }
    return found;
  }

  #requesterOf({ spec }: RequestRow): Account[] {
    const account = this.#context.people.accounts.get(spec?.record ?? '');
    return account?.uid === spec?.recordUID && account !== undefined && this.#isReachable(account) ? [account] : [];
  }

  #isReachable(account: Account): boolean {
    return hasAddress(account) && this.#context.people.isNormal(account);
  }

  #urlOf(name?: string): string {
    return requestURL(this.#context.services.config.server.publicURL ?? '', name);
  }

  #mailOf({ type, decision }: AccessEvent, row: RequestRow, { email }: Account): Mail {
    const texts = this.#letterhead.texts();
    const { spec, told, until } = row;
    const kind = type === 'granted' || type === 'denied' || type === 'ended' || type === 'breakglass' ? type : 'requested';
    const reason = isEndReason(told.reason) ? texts.t(`mail.access.reasons.${told.reason}`) : texts.t('mail.access.reasons.other');
    const values = {
      title: this.#letterhead.title(),
      requester: plain(spec?.requester),
      role: spec?.roleRef ?? '',
      place: spec?.namespaces?.join(', ') ?? texts.t('mail.access.platform'),
      minutes: Math.round((spec?.durationSeconds ?? 0) / 60),
      until: Number.isNaN(until) ? '' : timeText(texts, new Date(until)),
      by: plain(decision?.by),
      reason,
      url: this.#urlOf(row.name),
    };
    return { to: email, subject: texts.t(`mail.access.${kind}.subject`, values), text: texts.t(`mail.access.${kind}.text`, values) };
  }

  async #mail(mail: Mail, signal: AbortSignal): Promise<void> {
    const { config, log } = this.#context.services;
    if (!isMailSet(config.smtp)) return;
    try {
      await sendMail(config.smtp, mail, signal);
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'mail about an access request failed');
      throw error;
    }
  }
}

/** Returns a user name without characters that could pass for another line of the mail. */
const plain = (name: string | undefined): string => (name ?? '').replaceAll(/\p{C}/gu, ' ');
