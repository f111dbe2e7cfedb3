import type { LinkKind } from '../links/link.ts';

/** Everything that a person reads where a one-time link leads to. */
export interface LinkTexts {
  readonly titles: Readonly<Record<LinkKind, string>>;
  readonly leads: Readonly<Record<LinkKind, (email: string, client: string) => string>>;
  readonly set: string;
  readonly doneTitle: string;
  readonly done: string;
  readonly goneTitle: string;
  readonly gone: string;
}

const en: LinkTexts = {
  titles: { password: 'Choose a new password', invite: 'Welcome' },
  leads: {
    password: (email) => `Choose a new password for ${email}. Your logins elsewhere end.`,
    invite: (email, client) => `Choose a password for ${email}. With it you log in to ${client}.`,
  },
  set: 'Set password',
  doneTitle: 'Your password is set',
  done: 'Log in with it now. The link cannot be used again.',
  goneTitle: 'This link no longer works',
  gone: 'A link can be used once, for a short time, and not after the password was changed. Ask for a new one.',
};

const de: LinkTexts = {
  titles: { password: 'Neues Passwort wählen', invite: 'Willkommen' },
  leads: {
    password: (email) => `Wählen Sie ein neues Passwort für ${email}. Ihre Anmeldungen an anderen Stellen enden.`,
    invite: (email, client) => `Wählen Sie ein Passwort für ${email}. Damit melden Sie sich bei ${client} an.`,
  },
  set: 'Passwort festlegen',
  doneTitle: 'Ihr Passwort ist festgelegt',
  done: 'Melden Sie sich jetzt damit an. Der Link lässt sich nicht noch einmal verwenden.',
  goneTitle: 'Dieser Link gilt nicht mehr',
  gone: 'Ein Link lässt sich einmal und nur kurze Zeit verwenden, und nicht mehr nach einer Änderung des Passworts. Bitten Sie um einen neuen.',
};

const zh: LinkTexts = {
  titles: { password: '设置新密码', invite: '欢迎' },
  leads: {
    password: (email) => `请为 ${email} 设置新密码。您在其他地方的登录将结束。`,
    invite: (email, client) => `请为 ${email} 设置密码。您将用它登录 ${client}。`,
  },
  set: '设置密码',
  doneTitle: '密码已设置',
  done: '现在请用新密码登录。此链接不能再次使用。',
  goneTitle: '此链接已失效',
  gone: '链接只能在短时间内使用一次，密码更改后也会失效。请索取新的链接。',
};

export const linkTexts = { en, de, zh };
