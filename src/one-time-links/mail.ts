/** Mails to users. */
import type { Texts } from '../texts/texts.ts';
import type { NoticeType } from '../users/record/notice.ts';
import type { LinkKind } from './link.ts';
import type { Mail } from './mailer.ts';

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

const timeText = ({ tag }: Texts, time: Date): string =>
  `${new Intl.DateTimeFormat(tag, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(time)} UTC`;
