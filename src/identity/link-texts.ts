import type { LinkKind } from '../links/link.ts';

/** Everything that a person reads where a one-time link leads to. */
export interface LinkTexts {
  readonly titles: Readonly<Record<LinkKind, string>>;
  readonly leads: Readonly<Record<LinkKind, (email: string, client: string) => string>>;
  readonly set: string;
  /** What of the account is ended. */
  readonly replaces: string;
  readonly doneTitle: string;
  readonly done: string;
  readonly goneTitle: string;
  readonly gone: string;
  readonly forgottenTitle: string;
  readonly forgotten: string;
  readonly send: string;
  readonly sentTitle: string;
  readonly sent: string;
  readonly notThere: string;
  readonly askAdministrator: string;
  readonly question: string;
  readonly askAgain: string;
}

const en: LinkTexts = {
  titles: { password: 'Choose a new password', invite: 'Welcome', enrol: 'Set up a second step' },
  leads: {
    password: (email) => `Choose a new password for ${email}. Your logins elsewhere end.`,
    invite: (email, client) => `Choose a password for ${email}. With it you log in to ${client}.`,
    enrol: (email) => `Set up a new second step for ${email}. Enter your password first.`,
  },
  set: 'Set password',
  replaces: 'The second steps that you had before count no longer then, and your logins elsewhere end.',
  doneTitle: 'Your password is set',
  done: 'Log in with it now. The link cannot be used again.',
  goneTitle: 'This link no longer works',
  gone: 'A link can be used once, for a short time, and not after the password was changed. Ask for a new one.',
  forgottenTitle: 'Forgotten password',
  forgotten: 'Enter the e-mail address that you log in with. You get a mail with a link to choose a new password.',
  send: 'Send link',
  sentTitle: 'Check your mail',
  sent: 'If there is an account with this address that can be mailed to, a link is on its way. It works for 30 minutes.',
  notThere: 'Nothing there after some minutes? Check the folder for junk mail, or ask an administrator.',
  askAdministrator: 'No mail is sent here. An administrator can make a link for you, with which you choose a new password.',
  question: 'Forgotten your password?',
  askAgain: 'Ask for a new link',
};

const de: LinkTexts = {
  titles: { password: 'Neues Passwort wählen', invite: 'Willkommen', enrol: 'Zweiten Schritt einrichten' },
  leads: {
    password: (email) => `Wählen Sie ein neues Passwort für ${email}. Ihre Anmeldungen an anderen Stellen enden.`,
    invite: (email, client) => `Wählen Sie ein Passwort für ${email}. Damit melden Sie sich bei ${client} an.`,
    enrol: (email) => `Richten Sie einen neuen zweiten Schritt für ${email} ein. Geben Sie zuerst Ihr Passwort ein.`,
  },
  set: 'Passwort festlegen',
  replaces: 'Die zweiten Schritte, die Sie bisher hatten, gelten dann nicht mehr, und Ihre Anmeldungen an anderen Stellen enden.',
  doneTitle: 'Ihr Passwort ist festgelegt',
  done: 'Melden Sie sich jetzt damit an. Der Link lässt sich nicht noch einmal verwenden.',
  goneTitle: 'Dieser Link gilt nicht mehr',
  gone: 'Ein Link lässt sich einmal und nur kurze Zeit verwenden, und nicht mehr nach einer Änderung des Passworts. Bitten Sie um einen neuen.',
  forgottenTitle: 'Passwort vergessen',
  forgotten:
    'Geben Sie die E-Mail-Adresse ein, mit der Sie sich anmelden. Sie bekommen eine E-Mail mit einem Link, über den Sie ein neues Passwort wählen.',
  send: 'Link senden',
  sentTitle: 'Sehen Sie in Ihre E-Mails',
  sent: 'Falls es ein Konto mit dieser Adresse gibt, das E-Mails empfangen kann, ist ein Link unterwegs. Er gilt 30 Minuten.',
  notThere: 'Nach einigen Minuten nichts da? Sehen Sie im Spam-Ordner nach oder fragen Sie die Administration.',
  askAdministrator:
    'Hier werden keine E-Mails versendet. Die Administration kann Ihnen einen Link geben, über den Sie ein neues Passwort wählen.',
  question: 'Passwort vergessen?',
  askAgain: 'Neuen Link anfordern',
};

const zh: LinkTexts = {
  titles: { password: '设置新密码', invite: '欢迎', enrol: '设置第二步验证' },
  leads: {
    password: (email) => `请为 ${email} 设置新密码。您在其他地方的登录将结束。`,
    invite: (email, client) => `请为 ${email} 设置密码。您将用它登录 ${client}。`,
    enrol: (email) => `请为 ${email} 设置新的第二步验证。请先输入您的密码。`,
  },
  set: '设置密码',
  replaces: '此后您以前的第二步验证将失效，您在其他地方的登录将结束。',
  doneTitle: '密码已设置',
  done: '现在请用新密码登录。此链接不能再次使用。',
  goneTitle: '此链接已失效',
  gone: '链接只能在短时间内使用一次，密码更改后也会失效。请索取新的链接。',
  forgottenTitle: '忘记密码',
  forgotten: '请输入您登录时使用的电子邮件地址。您将收到一封邮件，其中的链接可用于设置新密码。',
  send: '发送链接',
  sentTitle: '请查看邮箱',
  sent: '如果存在使用此地址且能接收邮件的账户，链接已在发送途中。有效期为 30 分钟。',
  notThere: '几分钟后仍未收到？请查看垃圾邮件文件夹，或联系管理员。',
  askAdministrator: '此处不发送邮件。管理员可以为您生成用于设置新密码的链接。',
  question: '忘记密码？',
  askAgain: '获取新链接',
};

export const linkTexts = { en, de, zh };
