import { setImmediate as nextTurn } from 'node:timers/promises';
import { hourMs, RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { AuditOrigin } from '../audit/audit.ts';
import type { Config } from '../config/schema.ts';
import { MailQueue } from '../mail/mail-queue.ts';
import { hasAddress, isMailSet, type Mail } from '../mail/mailer.ts';
import type { Services } from '../services.ts';
import { type Texts, type Translations, timeText } from '../texts/texts.ts';
import type { PasswordChange } from '../users/passwords/change.ts';
import { type Account, accountOf } from '../users/record/account.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { readUser } from '../users/record/schema.ts';
import { UserStatusWriter } from '../users/status.ts';
import { auditReasons, type LinkKind, type MadeLink, type OneTimeLinks, refusalOf } from './links.ts';

export interface LinkMailNeeds {
  links: Pick<OneTimeLinks, 'emailOf' | 'make' | 'rules'>;
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
}

const mailSubject = 'a mail with a link';
const mailsPerNetwork = 10;
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
    this.#networks = new RateLimit({ limit: mailsPerNetwork, windowMs: hourMs, clock: services.clock });
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
    void this.#queue.run(mailSubject, () => this.#answerForgotten(asked)).catch(() => undefined);
  }

  /** Queues a mail with a link. @throws StatusError 429 while the queue is full */
  async send(account: Account, kind: LinkKind, link: MadeLink, origin: AuditOrigin): Promise<void> {
    // A full queue rejects before the next turn of the event loop. Queued mail is not awaited.
    await Promise.race([
      this.#queue.run(mailSubject, () => this.#send(account, kind, link, { texts: this.#needs.translations.first(), origin })),
      nextTurn(),
    ]);
  }

  async #answerForgotten({ email, texts, origin }: Forgotten): Promise<void> {
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
    await this.#send(accountOf(state.object), 'password', links.make('password', state, forgottenSeconds), { texts, origin });
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

  #send({ name, uid, email }: Account, kind: LinkKind, link: MadeLink, { texts, origin }: Sending): Promise<void> {
    const { audit } = this.#services;
    const about = { ...origin, target: { name, uid } };
    return this.#queue.send({
      what: mailSubject,
      // A link that was used, revoked or has expired, or of a user who now has another address, is not sent.
      write: async () =>
        (await this.#needs.links.emailOf(link)) === email
          ? linkMail(texts, kind, { title: this.#needs.title(), email, ...link })
          : undefined,
      onSettled: (isSent) =>
        audit.record({
          audit: 'LinkMailed',
          ...about,
          ...(isSent ? { outcome: 'success', reason: auditReasons[kind] } : { outcome: 'failure', reason: 'NotSent' }),
        }),
    });
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
