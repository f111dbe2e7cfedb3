/** Mail to approvers and requesters. No link decides, because mail scanners follow links. */
import { hourMs, RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import type { Outcome } from '@atrium/kubernetes/controllers/work-queue.ts';
import { Slices } from '@atrium/kubernetes/slices.ts';
import { attemptsAfter, hasAddress, type Mail, mailAttemptsAtMs, sendMail } from '../mail/mailer.ts';
import { type Texts, timeText } from '../texts/texts.ts';
import type { Account } from '../users/record/account.ts';
import { isUnreviewed } from './break-glass.ts';
import type { AccessContext } from './context.ts';
import { noticeCounter } from './metrics.ts';
import { type AccessEvent, type AccessEventType, type DeliveredMails, type Digests, NoticeError, type Receiver } from './notices.ts';
import type { RequestRow } from './request.ts';
import { isInTime } from './standing.ts';
import { isApproverOf, isOwn } from './visible.ts';
import { requestURL } from './webhooks.ts';

const maxApprovers = 50;
const mailsPerHour = 20;
const atOnce = 4;

/** Texts and name of the installation. */
export interface Letterhead {
  texts(): Texts;
  title(): string;
}

interface Postponed {
  readonly requests: Set<string>;
  readonly dueAt: number;
  /** Number of attempts that have failed, and the time of the first one. */
  readonly attempts: number;
  readonly firstAt?: number;
}

const toApprovers: readonly AccessEventType[] = ['requested', 'breakglass'];
/** Reasons that have a text of their own. */
const endReasons = ['Expired', 'EndedByUser', 'NotDecided', 'PolicyChanged', 'RoleChanged'] as const;
const isEndReason = (reason: string | undefined): reason is (typeof endReasons)[number] => endReasons.some((one) => one === reason);

/** Reasons of a request that lapsed before its access began, with a subject of their own. */
const lapseReasons = ['NotDecided', 'PolicyChanged', 'RoleChanged'] as const;
const isLapseReason = (reason: string | undefined): reason is (typeof lapseReasons)[number] => lapseReasons.some((one) => one === reason);

/** Returns the keys of the texts that are true of the request now. */
function keysOf(type: AccessEventType, { phase, begin, ended, told: { reason } }: RequestRow, isOngoing: boolean) {
  const textsOf = <Kind extends 'requested' | 'granted' | 'scheduled' | 'denied' | 'ended' | 'breakglass'>(kind: Kind) => ({
    subject: `mail.access.${kind}.subject` as const,
    text: `mail.access.${kind}.text` as const,
  });
  switch (type) {
    case 'granted':
      return textsOf(phase === 'Scheduled' ? 'scheduled' : 'granted');
    case 'denied':
      return textsOf('denied');
    case 'breakglass':
      return isOngoing ? textsOf('breakglass') : { ...textsOf('breakglass'), text: 'mail.access.breakglass.over' as const };
    case 'ended': {
      if (phase === 'Ended' && begin <= ended) return textsOf('ended');
      return {
        subject: `mail.access.lapsed.subject.${isLapseReason(reason) ? reason : 'other'}` as const,
        text: 'mail.access.lapsed.text' as const,
      };
    }
    default:
      return textsOf('requested');
  }
}

const isUndecidedBy = ({ decisions }: RequestRow, { name }: Account): boolean => decisions.every(({ record }) => record !== name);

/** The mail of access requests. Its limits are those of one leader. */
export class AccessMail implements Receiver, Digests {
  readonly name = 'mail';
  readonly prefix = 'mail-';
  readonly attemptsAtMs = mailAttemptsAtMs;
  readonly #context: AccessContext;
  readonly #letterhead: Letterhead;
  readonly #limit: RateLimit;
  readonly #postponed = new Map<string, Postponed>();
  #enqueue: (record: string) => void = () => undefined;

  constructor(context: AccessContext, letterhead: Letterhead) {
    const { now } = context.services;
    this.#context = context;
    this.#letterhead = letterhead;
    this.#limit = new RateLimit({ limit: mailsPerHour, windowMs: hourMs, clock: () => now().getTime() });
  }

  /** Reports whether the mail would be true now. */
  wants({ type }: AccessEvent, row: RequestRow): boolean {
    if (type === 'requested') return row.phase === 'Pending' && isInTime(this.#context, row);
    if (type === 'granted') return (row.phase === 'Active' || row.phase === 'Scheduled') && isInTime(this.#context, row);
    if (type === 'breakglass') return isUnreviewed(row);
    if (type === 'ended') return row.told.endedBy === undefined || row.told.endedBy !== row.spec?.requester;
    return type === 'denied';
  }

  async send(event: AccessEvent, row: RequestRow, { counted, taken, refused }: DeliveredMails, signal: AbortSignal): Promise<void> {
    const isForApprovers = toApprovers.includes(event.type);
    const accounts = isForApprovers ? await this.#approversOf(row) : this.#requesterOf(row);
    for (const account of isForApprovers ? accounts : []) {
      if (!counted.has(account.uid) && !this.#isDue(account, row)) taken.add(account.uid);
      counted.add(account.uid);
    }
    const due = accounts.filter(({ uid }) => !taken.has(uid) && !refused.has(uid));
    const attempts: number[] = [];
    await mapLimit(atOnce, due, async (account) => {
      try {
        await this.#mailIfTrue(event, row, account, signal);
        taken.add(account.uid);
      } catch (error) {
        const most = attemptsAfter(error);
        if (most === 1) refused.add(account.uid);
        else attempts.push(most);
      }
    });
    signal.throwIfAborted();
    const failed = attempts.length + refused.size;
    const message = `${failed} of ${taken.size + failed} mails were not taken by the mail server`;
    if (failed > 0) throw new NoticeError(message, Math.max(1, ...attempts));
  }

  /** Mails the request as it is now: other mails of the event may have taken minutes. */
  async #mailIfTrue(event: AccessEvent, { name, uid }: RequestRow, account: Account, signal: AbortSignal): Promise<void> {
    const row = this.#context.requests.cache.get(name);
    if (row?.uid !== uid || !this.wants(event, row)) return;
    if (event.type === 'requested' && !isUndecidedBy(row, account)) return;
    await this.#mail(this.#mailOf(event, row, account), signal);
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
      const isWaiting = row?.phase === 'Pending' && isInTime(this.#context, row) && isUndecidedBy(row, account);
      return isWaiting && isApproverOf(this.#context, row, person);
    });
    if (waiting.length === 0 || (postponed.attempts === 0 && this.#limit.take(account.uid) !== undefined)) return 'done';
    const texts = this.#letterhead.texts();
    const values = { title: this.#letterhead.title(), count: waiting.length, url: this.#urlOf() };
    const mail = {
      to: account.email,
      subject: texts.t('mail.access.digest.subject', values),
      text: texts.t('mail.access.digest.text', values),
    };
    void this.#mail(mail, signal).catch((error: unknown) => {
      if (!signal.aborted) this.#postponeAgain(record, postponed, error);
    });
    return 'done';
  }

  #postponeAgain(record: string, { requests, dueAt, attempts, firstAt = dueAt }: Postponed, error: unknown): void {
    const next = attempts + 1 < attemptsAfter(error) ? mailAttemptsAtMs[attempts + 1] : undefined;
    if (next === undefined) return;
    const further = this.#postponed.get(record)?.requests ?? [];
    this.#postponed.set(record, { requests: new Set([...requests, ...further]), dueAt: firstAt + next, attempts: attempts + 1, firstAt });
    this.#enqueue(record);
  }

  /** Reports whether the user gets this mail. Otherwise a digest follows. */
  #isDue({ uid, name }: Account, row: RequestRow): boolean {
    const { metrics, now } = this.#context.services;
    const exceeded = this.#limit.take(uid);
    if (exceeded === undefined) return true;
    const dueAt = now().getTime() + exceeded.retryAfterSeconds * 1000;
    const postponed = this.#postponed.get(name) ?? { requests: new Set(), dueAt, attempts: 0 };
    postponed.requests.add(row.name);
    this.#postponed.set(name, postponed);
    noticeCounter(metrics).inc({ receiver: this.name, outcome: 'digest' });
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
    const { spec, told, begin, until } = row;
    const reason = isEndReason(told.reason) ? texts.t(`mail.access.reasons.${told.reason}`) : texts.t('mail.access.reasons.other');
    const values = {
      title: this.#letterhead.title(),
      requester: plain(spec?.requester),
      role: spec?.roleRef ?? '',
      place: spec?.namespaces?.join(', ') ?? texts.t('mail.access.platform'),
      minutes: Math.round((spec?.durationSeconds ?? 0) / 60),
      from: Number.isNaN(begin) ? '' : timeText(texts, new Date(begin)),
      until: Number.isNaN(until) ? '' : timeText(texts, new Date(until)),
      by: plain(decision?.by),
      reason,
      url: this.#urlOf(row.name),
    };
    const { subject, text } = keysOf(type, row, isInTime(this.#context, row));
    return { to: email, subject: texts.t(subject, values), text: texts.t(text, values) };
  }

  async #mail(mail: Mail, signal: AbortSignal): Promise<void> {
    const { config, log } = this.#context.services;
    try {
      await sendMail(config, mail, signal);
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'mail about an access request failed');
      throw error;
    }
  }
}

/** Returns a user name without characters that could pass for another line of the mail. */
const plain = (name: string | undefined): string => (name ?? '').replaceAll(/\p{C}/gu, ' ');
