import type { NoticeType } from '../users/record/notice.ts';
import type { Mail } from './mailer.ts';

/** What a user is told of what has happened to the login, on the page and by mail. */
export interface NoticeTexts {
  readonly titles: Readonly<Record<NoticeType, string>>;
  readonly page: Readonly<Record<'title' | 'lead' | 'notYou' | 'proceed', string>>;
  readonly mail: {
    readonly subject: (title: string) => string;
    readonly text: (told: { title: string; email: string; what: string; time: string }) => string;
  };
}

const en: NoticeTexts = {
  titles: {
    PasskeyAdded: 'A passkey was set up.',
    TOTPAdded: 'An authenticator app was set up.',
    RecoveryCodesAdded: 'New recovery codes were made.',
    FactorRemoved: 'A second step was removed.',
    FactorsReset: 'An administrator has reset your second steps.',
    PasskeySuspected: 'A passkey was refused, since there may be a copy of it. It counts no longer.',
    PasswordSetByLink: 'The password was set by a link.',
    RecoveryCodeUsed: 'A recovery code was used.',
    TOTPSuspended: 'Too many codes were wrong. Those of your app count again after a login with a recovery code, or after a reset.',
    AccountLinked: 'A further account was linked, with which one can log in as you.',
    AccountUnlinked: 'A linked account was taken away.',
  },
  page: {
    title: 'Since your last login',
    lead: 'This has changed in your account:',
    notYou: 'If that was not you, change your password, look at your second steps, and tell an administrator.',
    proceed: 'Continue',
  },
  mail: {
    subject: (title) => `Your login at ${title} has changed`,
    text: ({ title, email, what, time }) => `This has happened to your account ${email} at ${title}:

${what}
${time}

If that was you, you need not do anything. If not, change your password, look at your second steps, and tell an administrator.
`,
  },
};

const de: NoticeTexts = {
  titles: {
    PasskeyAdded: 'Ein Passkey wurde eingerichtet.',
    TOTPAdded: 'Eine Authenticator-App wurde eingerichtet.',
    RecoveryCodesAdded: 'Neue Wiederherstellungscodes wurden erstellt.',
    FactorRemoved: 'Ein zweiter Schritt wurde entfernt.',
    FactorsReset: 'Die Administration hat Ihre zweiten Schritte zurückgesetzt.',
    PasskeySuspected: 'Ein Passkey wurde abgewiesen, da es eine Kopie davon geben kann. Er gilt nicht mehr.',
    PasswordSetByLink: 'Das Passwort wurde über einen Link festgelegt.',
    RecoveryCodeUsed: 'Ein Wiederherstellungscode wurde benutzt.',
    TOTPSuspended:
      'Zu viele Codes waren falsch. Die Ihrer App gelten wieder nach einer Anmeldung mit einem Wiederherstellungscode oder nach dem Zurücksetzen.',
    AccountLinked: 'Ein weiteres Konto wurde verknüpft, mit dem man sich als Sie anmelden kann.',
    AccountUnlinked: 'Ein verknüpftes Konto wurde entfernt.',
  },
  page: {
    title: 'Seit Ihrer letzten Anmeldung',
    lead: 'Das hat sich an Ihrem Konto geändert:',
    notYou:
      'Falls Sie das nicht waren, ändern Sie Ihr Passwort, prüfen Sie Ihre zweiten Schritte und sagen Sie der Administration Bescheid.',
    proceed: 'Weiter',
  },
  mail: {
    subject: (title) => `Ihre Anmeldung bei ${title} hat sich geändert`,
    text: ({ title, email, what, time }) => `Das ist mit Ihrem Konto ${email} bei ${title} geschehen:

${what}
${time}

Falls Sie das waren, brauchen Sie nichts zu tun. Falls nicht, ändern Sie Ihr Passwort, prüfen Sie Ihre zweiten Schritte und sagen Sie der Administration Bescheid.
`,
  },
};

const zh: NoticeTexts = {
  titles: {
    PasskeyAdded: '已设置一个通行密钥。',
    TOTPAdded: '已设置一个身份验证器应用。',
    RecoveryCodesAdded: '已生成新的恢复代码。',
    FactorRemoved: '已移除一个第二步验证。',
    FactorsReset: '管理员已重置您的第二步验证。',
    PasskeySuspected: '一个通行密钥被拒绝，因为它可能有副本。它已失效。',
    PasswordSetByLink: '密码已通过链接设置。',
    RecoveryCodeUsed: '已使用一个恢复代码。',
    TOTPSuspended: '错误的代码过多。使用恢复代码登录或重置后，应用的代码才会重新有效。',
    AccountLinked: '已关联另一个账户，可用它以您的身份登录。',
    AccountUnlinked: '已移除一个关联账户。',
  },
  page: {
    title: '自您上次登录以来',
    lead: '您的账户有以下变化：',
    notYou: '如果不是您本人的操作，请更改密码，检查您的第二步验证，并告知管理员。',
    proceed: '继续',
  },
  mail: {
    subject: (title) => `您在 ${title} 的登录方式已更改`,
    text: ({ title, email, what, time }) => `您在 ${title} 的账户 ${email} 发生了以下变化：

${what}
${time}

如果是您本人的操作，则无需任何操作。如果不是，请更改密码，检查您的第二步验证，并告知管理员。
`,
  },
};

export const noticeTexts: { readonly en: NoticeTexts; readonly de: NoticeTexts; readonly zh: NoticeTexts } = { en, de, zh };

const byLanguage: Readonly<Record<string, NoticeTexts | undefined>> = noticeTexts;

interface Told {
  /** What the installation is called. */
  title: string;
  email: string;
  time: Date;
}

/** @param language BCP 47; English stands in for one that there are no texts in */
export function noticeMail(type: NoticeType, { title, email, time }: Told, language: string): Mail {
  const { titles, mail } = byLanguage[new Intl.Locale(language).language] ?? en;
  const at = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(time);
  return { to: email, subject: mail.subject(title), text: mail.text({ title, email, what: titles[type], time: `${at} UTC` }) };
}
