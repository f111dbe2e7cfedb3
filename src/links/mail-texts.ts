import type { LinkKind } from './link.ts';
import type { Mail } from './mailer.ts';

interface Told {
  /** What the installation is called. */
  title: string;
  email: string;
  url: string;
  /** Until when the link counts. */
  until: string;
}

type LinkMailTexts = Readonly<Record<LinkKind, { subject: (title: string) => string; text: (told: Told) => string }>>;

const en: LinkMailTexts = {
  password: {
    subject: (title) => `Choose a new password for ${title}`,
    text: ({ title, email, url, until }) => `A new password was asked for your account ${email} at ${title}.

To choose one, open this link:

${url}

It works once, until ${until}.

If you did not ask for it, you need not do anything: your password stays as it is.
Do not pass the link on. Anyone with it can choose your password.
`,
  },
  invite: {
    subject: (title) => `Your account at ${title}`,
    text: ({ title, email, url, until }) => `There is an account for you at ${title}: ${email}.

To choose your password, open this link:

${url}

It works once, until ${until}.

Do not pass the link on. Anyone with it can choose your password.
`,
  },
  enrol: {
    subject: (title) => `Set up a second step for ${title}`,
    text: ({ title, email, url, until }) => `An administrator of ${title} has made a link for your account ${email}.

To set up a new second step of the login, open this link, and enter your password:

${url}

It works once, until ${until}.

If you do not know what it is for, ask the administrator, and do not pass the link on.
`,
  },
};

const de: LinkMailTexts = {
  password: {
    subject: (title) => `Neues Passwort für ${title}`,
    text: ({ title, email, url, until }) => `Für Ihr Konto ${email} bei ${title} wurde ein neues Passwort angefordert.

Um eines zu wählen, öffnen Sie diesen Link:

${url}

Er gilt einmal, bis ${until}.

Falls Sie das nicht waren, brauchen Sie nichts zu tun: Ihr Passwort bleibt, wie es ist.
Geben Sie den Link nicht weiter. Wer ihn hat, kann Ihr Passwort wählen.
`,
  },
  invite: {
    subject: (title) => `Ihr Konto bei ${title}`,
    text: ({ title, email, url, until }) => `Bei ${title} gibt es ein Konto für Sie: ${email}.

Um Ihr Passwort zu wählen, öffnen Sie diesen Link:

${url}

Er gilt einmal, bis ${until}.

Geben Sie den Link nicht weiter. Wer ihn hat, kann Ihr Passwort wählen.
`,
  },
  enrol: {
    subject: (title) => `Zweiten Schritt für ${title} einrichten`,
    text: ({ title, email, url, until }) => `Die Administration von ${title} hat einen Link für Ihr Konto ${email} erstellt.

Um einen neuen zweiten Schritt der Anmeldung einzurichten, öffnen Sie diesen Link und geben Sie Ihr Passwort ein:

${url}

Er gilt einmal, bis ${until}.

Falls Sie nicht wissen, wofür er ist, fragen Sie die Administration, und geben Sie den Link nicht weiter.
`,
  },
};

const zh: LinkMailTexts = {
  password: {
    subject: (title) => `设置 ${title} 的新密码`,
    text: ({ title, email, url, until }) => `有人为您在 ${title} 的账户 ${email} 请求了新密码。

要设置新密码，请打开此链接：

${url}

链接只能使用一次，有效期至 ${until}。

如果不是您本人的请求，则无需任何操作：您的密码保持不变。
请勿转发此链接。任何获得它的人都可以设置您的密码。
`,
  },
  invite: {
    subject: (title) => `您在 ${title} 的账户`,
    text: ({ title, email, url, until }) => `您在 ${title} 有了一个账户：${email}。

要设置密码，请打开此链接：

${url}

链接只能使用一次，有效期至 ${until}。

请勿转发此链接。任何获得它的人都可以设置您的密码。
`,
  },
  enrol: {
    subject: (title) => `为 ${title} 设置第二步验证`,
    text: ({ title, email, url, until }) => `${title} 的管理员为您的账户 ${email} 生成了一个链接。

要设置新的第二步验证，请打开此链接并输入您的密码：

${url}

链接只能使用一次，有效期至 ${until}。

如果您不知道它的用途，请询问管理员，并且不要转发此链接。
`,
  },
};

const textsByLanguage: { readonly en: LinkMailTexts; readonly [language: string]: LinkMailTexts | undefined } = { en, de, zh };

/** @param language BCP 47; English stands in for one that there are no texts in */
export function linkMail(
  kind: LinkKind,
  { title, email, url, expiresAt }: { title: string; email: string; url: string; expiresAt: Date },
  language: string,
): Mail {
  const { subject, text } = (textsByLanguage[new Intl.Locale(language).language] ?? en)[kind];
  const until = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(expiresAt);
  return { to: email, subject: subject(title), text: text({ title, email, url, until: `${until} UTC` }) };
}
