/** Mail that reminds owners of a review. No link answers, because mail scanners follow links. */
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import { recordsWho } from '../explorer/who-can.ts';
import { hasAddress, isMailSet, sendMail } from '../mail/mailer.ts';
import { type Texts, timeText } from '../texts/texts.ts';
import { phaseOf } from '../users/record/conditions.ts';
import type { ReviewContext } from './context.ts';
import type { Reminded, ReviewRow } from './review.ts';
import { rightIn } from './strategy.ts';

const maxOwners = 50;
const atOnce = 4;

/** Texts and name of the installation. */
export interface Letterhead {
  texts(): Texts;
  title(): string;
}

/** Mails owners the number of bindings that wait for an answer. A mail that fails is logged: a later reminder follows. @returns `Sent` if the mail server took a mail */
export async function mailOwners(
  context: ReviewContext,
  { texts, title }: Letterhead,
  { row, open }: { row: ReviewRow; open: number },
  signal: AbortSignal,
): Promise<Reminded> {
  const { services, users } = context;
  const { config, log, now } = services;
  const { publicURL } = config.server;
  if (!isMailSet(config.smtp) || publicURL === undefined) return 'NoMailServer';
  const { verb, group, resource, namespace = '' } = rightIn(row.place, 'update');
  const records = await recordsWho(context, { verb, group, resource, subresource: '', namespace, name: '' });
  const owners = [...records].flatMap((record) => users.accounts.get(record) ?? []);
  const reachable = owners.filter((owner) => hasAddress(owner) && phaseOf(owner, now(), config.users.idleDays).phase === 'Normal');
  if (reachable.length === 0) return 'NoOwner';
  const values = {
    ...{ title: title(), count: open, url: new URL('explorer/standing', publicURL.endsWith('/') ? publicURL : `${publicURL}/`).href },
    place: row.place || texts().t('mail.access.platform'),
    due: timeText(texts(), new Date(row.status.dueAt ?? '')),
  };
  const taken = await mapLimit(atOnce, reachable.slice(0, maxOwners), async ({ email }) => {
    const mail = { to: email, subject: texts().t('mail.review.subject', values), text: texts().t('mail.review.text', values) };
    try {
      await sendMail(config, mail, signal);
      return true;
    } catch (err) {
      signal.throwIfAborted();
      log.warn({ err, bindingReview: row.name }, 'mail about a binding review failed');
      return false;
    }
  });
  return taken.includes(true) ? 'Sent' : 'MailFailed';
}
