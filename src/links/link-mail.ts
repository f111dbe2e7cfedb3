import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Config } from '../config/schema.ts';
import type { AuditOrigin } from '../http/audit.ts';
import { RateLimit } from '../http/rate-limit.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import type { Services } from '../services.ts';
import type { Texts, Translations } from '../texts/texts.ts';
import type { PasswordChange } from '../users/passwords/change.ts';
import { type Account, accountOf } from '../users/record/account.ts';
import { type AccountLookup, requireAccounts } from '../users/record/lookup.ts';
import { readUser } from '../users/record/schema.ts';
import { UserStatusWriter } from '../users/status.ts';
import { auditReasons, type LinkKind, refusalOf } from './link.ts';
import type { Links, MadeLink } from './links.ts';
import { linkMail } from './mail.ts';
import { MailQueue } from './mail-queue.ts';
import { hasAddress, isMailSet, sendMail } from './mailer.ts';

export interface LinkMailNeeds {
  links: Pick<Links, 'make' | 'rules'>;
  accounts: Pick<AccountLookup, 'find' | 'isSynced' | 'unavailable'>;
  passwordChange: Pick<PasswordChange, 'stateOf'>;
  translations: Pick<Translations, 'first'>;
  /** What the installation is called. */
  title: () => string;
}

/** A person at the page for a forgotten password. */
export interface Forgotten {
  /** As it was typed. Mail goes to the address of the record alone. */
  email: string;
  /** In the language of the page. */
  texts: Texts;
  origin: AuditOrigin;
}

interface Sending {
  texts: Texts;
  origin: AuditOrigin;
  signal: AbortSignal;
}

const whatIsSent = 'a mail with a link';
const mailsPerNetwork = 10;
const oneHourMs = 3_600_000;
/** Between two mails that strangers can cause for one account. */
const pauseMs = 300_000;
const forgottenSeconds = 1800;

/** Mails links, in a queue of its own: no request waits for a mail server, and none learns from it whether there is such a user. */
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

  /** Looks nothing up before it returns, and never throws: it takes as long for any address. What is too much is dropped. */
  forgotten(asked: Forgotten): void {
    if (this.#networks.take(asked.origin.source) !== undefined) return;
    void this.#queue.run(whatIsSent, (signal) => this.#answerForgotten(asked, signal)).catch(() => undefined);
  }

  /** @throws StatusError 429 while too many wait */
  async send(account: Account, kind: LinkKind, link: MadeLink, origin: AuditOrigin): Promise<void> {
    // What waits does not fail before.
    await Promise.race([
      this.#queue.run(whatIsSent, (signal) => this.#send(account, kind, link, { texts: this.#needs.translations.first(), origin, signal })),
      nextTurn(),
    ]);
  }

  async #answerForgotten({ email, texts, origin }: Forgotten, signal: AbortSignal): Promise<void> {
    // After the answer, which is on its way by then.
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

  /** Written before the mail goes, by compare-and-swap, so that one of many requests on many replicas sends one. */
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

/** Whether people who have forgotten their password are sent a link. */
export const mailsForgotten = ({ login, smtp }: Config): boolean => login.links.forgotten && isMailSet(smtp);
