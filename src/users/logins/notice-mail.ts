import { hourMs, RateLimit } from '@atrium/http/limits/rate-limit.ts';
import { MailQueue } from '../../mail/mail-queue.ts';
import { hasAddress, isMailSet } from '../../mail/mailer.ts';
import type { Services } from '../../services.ts';
import { type Translations, timeText } from '../../texts/texts.ts';
import type { Account } from '../record/account.ts';
import type { NoticeType } from '../record/schema.ts';

/** Bound of the mails of one user in an hour. */
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
    this.#users = new RateLimit({ limit: mailsPerUser, windowMs: hourMs, clock: services.clock });
  }

  stop(): void {
    this.#queue.stop();
  }

  /** Queues a mail, and never throws. Mails beyond the limits are dropped, and the notice is on the record alone. */
  send(account: Account, type: NoticeType): void {
    const { config, now } = this.#services;
    const { email, uid } = account;
    if (!isMailSet(config.smtp) || !hasAddress(account) || this.#users.take(uid) !== undefined) return;
    const texts = this.#translations.first();
    const title = this.#title();
    const what = texts.t(`identity.notices.titles.${type}`);
    const text = texts.t('mail.notice.text', { title, email, what, time: timeText(texts, now()) });
    const mail = { to: email, subject: texts.t('mail.notice.subject', { title }), text };
    const letter = { what: 'a notice', write: async () => mail };
    void this.#queue.run(letter.what, () => this.#queue.send(letter)).catch(() => undefined);
  }
}
