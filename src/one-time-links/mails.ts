import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Config } from '../config/schema.ts';
import type { AuditOrigin } from '../http/audit.ts';
import { timestamp } from '../kubernetes/clock.ts';
import { RateLimit } from '../limits/rate-limit.ts';
import { Semaphore } from '../limits/semaphore.ts';
import { hasAddress, isMailSet, type Mail, sendMail } from '../mail/mailer.ts';
import type { Services } from '../services.ts';
import { type Texts, type Translations, timeText } from '../texts/texts.ts';
import type { PasswordChange } from '../users/passwords/change.ts';
import { type Account, accountOf } from '../users/record/account.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { type NoticeType, readUser } from '../users/record/schema.ts';
import { UserStatusWriter } from '../users/status.ts';
import { auditReasons, type LinkKind, type MadeLink, type OneTimeLinks, refusalOf } from './one-time-links.ts';

export interface LinkMailNeeds {
  links: Pick<OneTimeLinks, 'make' | 'rules'>;
  accounts: Pick<AccountLookup, 'find' | 'watch'>;
  passwordChange: Pick<PasswordChange, 'stateOf'>;
  translations: Pick<Translations, 'first'>;
  /** Returns the name of the installation. */
  title: () => string;
}

/** Request from the page for a forgotten password. */
export interface Forgotten {
  /** Login string as typed. Mail only goes to the address of the record. */
  email: string;
  /** Texts in the language of the page. */
  texts: Texts;
  origin: AuditOrigin;
}

interface Sending {
  texts: Texts;
  origin: AuditOrigin;
  signal: AbortSignal;
}

const mailSubject = 'a mail with a link';
const mailsPerNetwork = 10;
const oneHourMs = 3_600_000;
/** Minimum time between two mails that strangers can cause for one account. */
const pauseMs = 300_000;
const forgottenSeconds = 1800;

/** Mails links from a queue. No request waits for a mail server, so that the time of an answer does not reveal whether a user exists. */
export class LinkMail {
  readonly #services: Services;
  readonly #needs: LinkMailNeeds;
  readonly #queue: MailQueue;
  readonly #networks: RateLimit;

  constructor(services: Services, needs: LinkMailNeeds) {
    this.#services = services;
    this.#needs = needs;
    this.#queue = new MailQueue(services);
    this.#networks = new RateLimit({ limit: mailsPerNetwork, windowMs: oneHourMs, clock: services.clock });
  }

  stop(): void {
    this.#queue.stop();
  }

  /**
   * Queues a mail to a user who has forgotten the password, and never throws. Looks nothing up before it returns, so that every address
   * takes the same time. Requests beyond the limits are dropped.
   */
  forgotten(asked: Forgotten): void {
    if (this.#networks.take(asked.origin.source) !== undefined) return;
    void this.#queue.run(mailSubject, (signal) => this.#answerForgotten(asked, signal)).catch(() => undefined);
  }

  /** Queues a mail with a link. @throws StatusError 429 while the queue is full */
  async send(account: Account, kind: LinkKind, link: MadeLink, origin: AuditOrigin): Promise<void> {
    // A full queue rejects before the next turn of the event loop. Queued mail is not awaited.
    await Promise.race([
      this.#queue.run(mailSubject, (signal) =>
        this.#send(account, kind, link, { texts: this.#needs.translations.first(), origin, signal }),
      ),
      nextTurn(),
    ]);
  }

  async #answerForgotten({ email, texts, origin }: Forgotten, signal: AbortSignal): Promise<void> {
    // The page is answered before the lookup begins.
    await nextTurn();
    const { accounts, links, passwordChange } = this.#needs;
    requireAccounts(accounts);
    const account = accounts.find(email);
    if (account === undefined || !hasAddress(account)) return;
    const before = await passwordChange.stateOf(account);
    if (before === undefined || refusalOf('password', before, links.rules()) !== undefined) return;
    if (!(await this.#note(account))) return;
    const state = await passwordChange.stateOf(account);
    if (state === undefined) return;
    await this.#send(accountOf(state.object), 'password', links.make('password', state, forgottenSeconds), { texts, origin, signal });
  }

  /**
   * Records the time of the mail by compare-and-swap before it is sent. Only one of several concurrent requests, also on other replicas,
   * sends a mail.
   *
   * @returns false if the last mail is too recent
   */
  async #note(account: Account): Promise<boolean> {
    const now = this.#services.now();
    let isDue = false;
    await new UserStatusWriter(this.#services).patch(account, (object) => {
      const last = Date.parse(readUser(object).status?.lastMailTime ?? '');
      isDue = Number.isNaN(last) || last + pauseMs <= now.getTime();
      return isDue ? { lastMailTime: timestamp(now) } : undefined;
    });
    return isDue;
  }

  async #send(account: Account, kind: LinkKind, link: MadeLink, { texts, origin, signal }: Sending) {
    const { config, audit } = this.#services;
    const { name, uid, email } = account;
    if (!isMailSet(config.smtp)) return;
    const about = { ...origin, target: { name, uid } };
    try {
      await sendMail(config.smtp, linkMail(texts, kind, { title: this.#needs.title(), email, ...link }), signal);
      audit.record({ audit: 'LinkMailed', ...about, outcome: 'success', reason: auditReasons[kind] });
    } catch (error) {
      audit.record({ audit: 'LinkMailed', ...about, outcome: 'failure', reason: 'NotSent' });
      throw error;
    }
  }
}

/** Reports whether users who have forgotten their password can request a link by mail. */
export const mailsForgotten = ({ login, smtp }: Config): boolean => login.links.forgotten && isMailSet(smtp);

interface ToldLink {
  /** Name of the installation. */
  title: string;
  email: string;
  url: string;
  expiresAt: Date;
}

function linkMail(texts: Texts, kind: LinkKind, { title, email, url, expiresAt }: ToldLink): Mail {
  const text = texts.t(`mail.${kind}.text`, { title, email, url, until: timeText(texts, expiresAt) });
  return { to: email, subject: texts.t(`mail.${kind}.subject`, { title }), text };
}

const turns = { atOnce: 12, ofFlow: 2, maxWaiting: 100, what: 'mails are waiting' };

/** Sends mail in the background. No request waits for a mail server. */
class MailQueue {
  readonly #log: Services['log'];
  readonly #turns = new Semaphore(turns);
  readonly #stopping = new AbortController();

  constructor({ log }: Services) {
    this.#log = log;
  }

  stop(): void {
    this.#stopping.abort(new Error('the service stops'));
  }

  /** Runs the work in its turn, and logs its failure. @throws StatusError 429 while the queue is full */
  run(what: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    return this.#turns.run(
      () =>
        work(signal).catch((error: unknown) => {
          if (!signal.aborted) this.#log.warn({ err: error }, `${what} was not sent`);
        }),
      signal,
    );
  }
}

const mailsPerUser = 20;

/** Mails users about changes of their login. A page at the next login shows them, too, but an intruder may be the first to log in. */
export class NoticeMail {
  readonly #services: Services;
  readonly #translations: Translations;
  readonly #title: () => string;
  readonly #queue: MailQueue;
  readonly #users: RateLimit;

  /** @param title returns the name of the installation */
  constructor(services: Services, translations: Translations, title: () => string) {
    this.#translations = translations;
    this.#services = services;
    this.#title = title;
    this.#queue = new MailQueue(services);
    this.#users = new RateLimit({ limit: mailsPerUser, windowMs: oneHourMs, clock: services.clock });
  }

  stop(): void {
    this.#queue.stop();
  }

  /** Queues a mail, and never throws. Mails beyond the limits are dropped, and the notice is on the record alone. */
  send(account: Account, type: NoticeType): void {
    const { config, now } = this.#services;
    const { smtp } = config;
    const { email, uid } = account;
    if (!isMailSet(smtp) || !hasAddress(account) || this.#users.take(uid) !== undefined) return;
    const texts = this.#translations.first();
    const title = this.#title();
    const what = texts.t(`identity.notices.titles.${type}`);
    const text = texts.t('mail.notice.text', { title, email, what, time: timeText(texts, now()) });
    const mail = { to: email, subject: texts.t('mail.notice.subject', { title }), text };
    void this.#queue.run('a notice', (signal) => sendMail(smtp, mail, signal)).catch(() => undefined);
  }
}
