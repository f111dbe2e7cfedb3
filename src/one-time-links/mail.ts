/** Mails to users. */

import type { Mail } from '../mail/mailer.ts';
import { type Texts, timeText } from '../texts/texts.ts';
import type { NoticeType } from '../users/record/schema.ts';
import type { LinkKind } from './one-time-links.ts';

interface Told {
  /** Name of the installation. */
  title: string;
  email: string;
}

export function linkMail(
  texts: Texts,
  kind: LinkKind,
  { title, email, url, expiresAt }: Told & { readonly url: string; readonly expiresAt: Date },
): Mail {
  const text = texts.t(`mail.${kind}.text`, { title, email, url, until: timeText(texts, expiresAt) });
  return { to: email, subject: texts.t(`mail.${kind}.subject`, { title }), text };
}

export function noticeMail(texts: Texts, type: NoticeType, { title, email, time }: Told & { readonly time: Date }): Mail {
  const what = texts.t(`identity.notices.titles.${type}`);
  const text = texts.t('mail.notice.text', { title, email, what, time: timeText(texts, time) });
  return { to: email, subject: texts.t('mail.notice.subject', { title }), text };
}
