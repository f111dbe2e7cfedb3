import { RateLimit } from '../http/rate-limit.ts';
import type { Services } from '../services.ts';
import type { Account } from '../users/record/account.ts';
import type { NoticeType } from '../users/record/notice.ts';
import { MailQueue } from './mail-queue.ts';
import { hasAddress, isMailSet, sendMail } from './mailer.ts';
import { noticeMail } from './notice-texts.ts';

const mailsPerUser = 20;
const oneHourMs = 3_600_000;

/** Mails users what has happened to their login: a page at the next login tells those who log in, and an intruder may be the first. */
export class NoticeMail {
  readonly #services: Services;
  readonly #title: () => string;
  readonly #queue: MailQueue;
  readonly #users: RateLimit;

  /** @param title what the installation is called */
  constructor(services: Services, title: () => string) {
    this.#services = services;
    this.#title = title;
    this.#queue = new MailQueue(services);
    this.#users = new RateLimit({ limit: mailsPerUser, windowMs: oneHourMs, clock: services.clock });
  }

  stop(): void {
    this.#queue.stop();
  }

  /** Never throws, and waits for nothing: what is too much is on the record alone. */
  send(account: Account, type: NoticeType): void {
    const { config, now } = this.#services;
    const { smtp } = config;
    const { email, uid } = account;
    if (!isMailSet(smtp) || !hasAddress(account) || this.#users.take(uid) !== undefined) return;
    const [{ id: language } = { id: 'en' }] = config.console.languages;
    const mail = noticeMail(type, { title: this.#title(), email, time: now() }, language);
    void this.#queue.run('a notice', (signal) => sendMail(smtp, mail, signal)).catch(() => undefined);
  }
}
