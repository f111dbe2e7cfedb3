import { type NoticeTexts, noticeTexts } from '../links/notice-texts.ts';
import type { PasswordProblem } from '../users/passwords/policy.ts';
import { type FactorTexts, factorTexts } from './factor-texts.ts';
import { type LinkTexts, linkTexts } from './link-texts.ts';
import { type PasskeyTexts, passkeyTexts } from './passkey-texts.ts';

/** Why a new password is refused. */
export type NewPasswordProblem = PasswordProblem | 'SameAsOld' | 'Different';

/** Everything that a person reads on the pages. */
export interface Texts {
  /** BCP 47, for `lang`. */
  readonly tag: string;
  readonly logIn: string;
  readonly logInTo: (client: string) => string;
  readonly email: string;
  readonly password: string;
  readonly cancel: string;
  readonly proceed: string;
  readonly refused: string;
  readonly lockRule: (failures: number, window: string, duration: string) => string;
  readonly tooMany: (wait: string) => string;
  readonly unavailable: string;
  readonly forgotten: string;
  readonly errorPrefix: string;
  readonly consentTitle: string;
  readonly consent: (client: string) => string;
  readonly dueTitle: string;
  readonly due: (email: string) => string;
  readonly newPassword: string;
  readonly newPasswordAgain: string;
  readonly newPasswordRule: (characters: number) => string;
  readonly newPasswordProblems: Readonly<Record<NewPasswordProblem, string>>;
  readonly setPassword: string;
  readonly toConsole: string;
  readonly logOut: string;
  readonly logOutQuestion: string;
  readonly stay: string;
  readonly logOutNobody: string;
  readonly switchTitle: string;
  readonly switchText: string;
  readonly doneTitle: string;
  readonly done: string;
  readonly deviceTitle: string;
  readonly device: string;
  readonly deviceCode: string;
  readonly deviceConfirmTitle: string;
  readonly deviceConfirm: (client: string) => string;
  /** How long ago, and from which address. */
  readonly deviceBegun: (ago: string, address: string) => string;
  readonly deviceElsewhere: string;
  readonly deviceWarning: string;
  readonly deviceDone: string;
  readonly codeUnknown: string;
  readonly codeExpired: string;
  readonly codeUsed: string;
  readonly aborted: string;
  readonly failedTitle: string;
  readonly failed: string;
  readonly begun: string;
  readonly details: string;
  readonly factors: FactorTexts;
  readonly links: LinkTexts;
  readonly passkeys: PasskeyTexts;
  readonly notices: NoticeTexts;
}

const en: Texts = {
  tag: 'en',
  logIn: 'Log in',
  logInTo: (client) => `Log in to go on to ${client}.`,
  email: 'E-mail address',
  password: 'Password',
  cancel: 'Cancel',
  proceed: 'Continue',
  refused: 'The e-mail address or the password is not right, or the account may not log in at the moment.',
  lockRule: (failures, window, duration) =>
    `After ${failures} wrong passwords within ${window} an account is locked for ${duration}. If that may be so, wait for ${duration} and try again.`,
  tooMany: (wait) => `There were too many attempts from your network. Try again in ${wait}.`,
  unavailable: 'The service is not available at the moment. Try again soon.',
  forgotten: 'Forgotten your password? An administrator can give you a new one.',
  errorPrefix: 'Error',
  consentTitle: 'Go on?',
  consent: (client) => `${client} wants to log you in. Go on only if you have just begun this yourself.`,
  dueTitle: 'Choose a new password',
  due: (email) => `The password of ${email} must be changed before you can go on.`,
  newPassword: 'New password',
  newPasswordAgain: 'New password, once more',
  newPasswordRule: (characters) => `At least ${characters} characters; several words are better than a few signs.`,
  newPasswordProblems: {
    TooShort: 'This password is too short.',
    TooLong: 'This password is too long.',
    Common: 'This password is too common.',
    NamesUser: 'The password must not contain your name or e-mail address.',
    NeedsLetter: 'The password must contain a letter.',
    NeedsDigit: 'The password must contain a digit.',
    NeedsSpecial: 'The password must contain a special character.',
    SameAsOld: 'This is the old password. Choose another one.',
    Different: 'The two passwords are not the same.',
  },
  setPassword: 'Change password and log in',
  toConsole: 'To the console',
  logOut: 'Log out',
  logOutQuestion: 'Do you want to log out?',
  stay: 'Stay logged in',
  logOutNobody: 'No user is logged in here any more.',
  switchTitle: 'Another account',
  switchText: 'Another user is logged in in this browser. That login ends when you go on.',
  doneTitle: 'Done',
  done: 'You can close this page.',
  deviceTitle: 'Log in on a device',
  device: 'Enter the code that your command-line tool or device shows.',
  deviceCode: 'Code',
  deviceConfirmTitle: 'Is this your device?',
  deviceConfirm: (client) =>
    `${client} asks to be logged in as you. Go on only if you have begun this yourself and your device shows this code:`,
  deviceBegun: (ago, address) => `It was begun ${ago} ago, from the address ${address}.`,
  deviceElsewhere: 'That is not the network that you use now. Go on only if your device is there.',
  deviceWarning: 'If another person sent you this code, or a link with it, cancel. That person would be logged in as you.',
  deviceDone: 'You are logged in. You can close this page and go back to your device.',
  codeUnknown: 'There is no such code. Look at it again and enter it once more.',
  codeExpired: 'This code has expired. Begin again on your device.',
  codeUsed: 'This code has been used already. Begin again on your device.',
  aborted: 'The login was cancelled.',
  failedTitle: 'This did not work',
  failed: 'What was asked for is not complete or not right. Begin again.',
  begun: 'This login has taken too long, or it was begun in another browser. Begin again.',
  details: 'Details',
  factors: factorTexts.en,
  links: linkTexts.en,
  passkeys: passkeyTexts.en,
  notices: noticeTexts.en,
};

const de: Texts = {
  tag: 'de',
  logIn: 'Anmelden',
  logInTo: (client) => `Melden Sie sich an, um zu ${client} zu gelangen.`,
  email: 'E-Mail-Adresse',
  password: 'Passwort',
  cancel: 'Abbrechen',
  proceed: 'Weiter',
  refused: 'Die E-Mail-Adresse oder das Passwort stimmt nicht, oder das Konto darf sich zurzeit nicht anmelden.',
  lockRule: (failures, window, duration) =>
    `Nach ${failures} falschen Passwörtern innerhalb von ${window} ist ein Konto ${duration} lang gesperrt. Falls das so sein kann, warten Sie ${duration} und versuchen Sie es noch einmal.`,
  tooMany: (wait) => `Aus Ihrem Netz kamen zu viele Versuche. Versuchen Sie es in ${wait} noch einmal.`,
  unavailable: 'Der Dienst ist zurzeit nicht verfügbar. Versuchen Sie es bald noch einmal.',
  forgotten: 'Passwort vergessen? Die Administration kann Ihnen ein neues geben.',
  errorPrefix: 'Fehler',
  consentTitle: 'Fortfahren?',
  consent: (client) => `${client} möchte Sie anmelden. Fahren Sie nur fort, wenn Sie das gerade selbst begonnen haben.`,
  dueTitle: 'Neues Passwort wählen',
  due: (email) => `Das Passwort von ${email} muss geändert werden, bevor es weitergeht.`,
  newPassword: 'Neues Passwort',
  newPasswordAgain: 'Neues Passwort noch einmal',
  newPasswordRule: (characters) => `Mindestens ${characters} Zeichen; mehrere Wörter sind besser als wenige Sonderzeichen.`,
  newPasswordProblems: {
    TooShort: 'Dieses Passwort ist zu kurz.',
    TooLong: 'Dieses Passwort ist zu lang.',
    Common: 'Dieses Passwort ist zu verbreitet.',
    NamesUser: 'Das Passwort darf Ihren Namen und Ihre E-Mail-Adresse nicht enthalten.',
    NeedsLetter: 'Das Passwort muss einen Buchstaben enthalten.',
    NeedsDigit: 'Das Passwort muss eine Ziffer enthalten.',
    NeedsSpecial: 'Das Passwort muss ein Sonderzeichen enthalten.',
    SameAsOld: 'Das ist das alte Passwort. Wählen Sie ein anderes.',
    Different: 'Die beiden Passwörter stimmen nicht überein.',
  },
  setPassword: 'Passwort ändern und anmelden',
  toConsole: 'Zur Konsole',
  logOut: 'Abmelden',
  logOutQuestion: 'Möchten Sie sich abmelden?',
  stay: 'Angemeldet bleiben',
  logOutNobody: 'Hier ist niemand mehr angemeldet.',
  switchTitle: 'Anderes Konto',
  switchText: 'In diesem Browser ist jemand anderes angemeldet. Diese Anmeldung endet, wenn Sie fortfahren.',
  doneTitle: 'Fertig',
  done: 'Sie können diese Seite schließen.',
  deviceTitle: 'Auf einem Gerät anmelden',
  device: 'Geben Sie den Code ein, den Ihr Kommandozeilenprogramm oder Gerät anzeigt.',
  deviceCode: 'Code',
  deviceConfirmTitle: 'Ist das Ihr Gerät?',
  deviceConfirm: (client) =>
    `${client} möchte als Sie angemeldet werden. Fahren Sie nur fort, wenn Sie das selbst begonnen haben und Ihr Gerät diesen Code zeigt:`,
  deviceBegun: (ago, address) => `Begonnen vor ${ago}, von der Adresse ${address}.`,
  deviceElsewhere: 'Das ist nicht das Netz, in dem Sie gerade sind. Fahren Sie nur fort, wenn Ihr Gerät dort ist.',
  deviceWarning:
    'Wenn Ihnen eine andere Person diesen Code oder einen Link damit geschickt hat, brechen Sie ab. Diese Person wäre sonst als Sie angemeldet.',
  deviceDone: 'Sie sind angemeldet. Sie können diese Seite schließen und zu Ihrem Gerät zurückkehren.',
  codeUnknown: 'Diesen Code gibt es nicht. Sehen Sie noch einmal nach und geben Sie ihn erneut ein.',
  codeExpired: 'Dieser Code ist abgelaufen. Beginnen Sie auf Ihrem Gerät von vorn.',
  codeUsed: 'Dieser Code wurde schon benutzt. Beginnen Sie auf Ihrem Gerät von vorn.',
  aborted: 'Die Anmeldung wurde abgebrochen.',
  failedTitle: 'Das hat nicht geklappt',
  failed: 'Die Anfrage ist unvollständig oder falsch. Beginnen Sie von vorn.',
  begun: 'Diese Anmeldung hat zu lange gedauert, oder sie wurde in einem anderen Browser begonnen. Beginnen Sie von vorn.',
  details: 'Einzelheiten',
  factors: factorTexts.de,
  links: linkTexts.de,
  passkeys: passkeyTexts.de,
  notices: noticeTexts.de,
};

const zh: Texts = {
  tag: 'zh-Hans',
  logIn: '登录',
  logInTo: (client) => `登录后继续访问 ${client}。`,
  email: '电子邮件地址',
  password: '密码',
  cancel: '取消',
  proceed: '继续',
  refused: '电子邮件地址或密码不正确，或者该账户目前不能登录。',
  lockRule: (failures, window, duration) =>
    `在${window}内输错 ${failures} 次密码后，账户将锁定${duration}。如果可能已被锁定，请等待${duration}后重试。`,
  tooMany: (wait) => `来自您网络的尝试次数过多。请在${wait}后重试。`,
  unavailable: '服务暂时不可用。请稍后重试。',
  forgotten: '忘记密码？管理员可以为您设置新密码。',
  errorPrefix: '错误',
  consentTitle: '是否继续？',
  consent: (client) => `${client} 请求让您登录。只有您刚刚自己发起了此操作，才请继续。`,
  dueTitle: '设置新密码',
  due: (email) => `必须先更改 ${email} 的密码，然后才能继续。`,
  newPassword: '新密码',
  newPasswordAgain: '再次输入新密码',
  newPasswordRule: (characters) => `至少 ${characters} 个字符；由多个词组成的密码优于少量特殊符号。`,
  newPasswordProblems: {
    TooShort: '此密码太短。',
    TooLong: '此密码太长。',
    Common: '此密码过于常见。',
    NamesUser: '密码不能包含您的姓名或电子邮件地址。',
    NeedsLetter: '密码必须包含字母。',
    NeedsDigit: '密码必须包含数字。',
    NeedsSpecial: '密码必须包含特殊字符。',
    SameAsOld: '这是旧密码。请选择其他密码。',
    Different: '两次输入的密码不一致。',
  },
  setPassword: '更改密码并登录',
  toConsole: '前往控制台',
  logOut: '退出登录',
  logOutQuestion: '您要退出登录吗？',
  stay: '保持登录',
  logOutNobody: '此处已无人登录。',
  switchTitle: '另一个账户',
  switchText: '此浏览器中已有其他人登录。如果继续，该登录将结束。',
  doneTitle: '完成',
  done: '您可以关闭此页面。',
  deviceTitle: '在设备上登录',
  device: '请输入命令行工具或设备上显示的代码。',
  deviceCode: '代码',
  deviceConfirmTitle: '这是您的设备吗？',
  deviceConfirm: (client) => `${client} 请求以您的身份登录。只有您自己发起了此操作，并且设备上显示以下代码时，才请继续：`,
  deviceBegun: (ago, address) => `此操作于${ago}前从地址 ${address} 发起。`,
  deviceElsewhere: '该地址不在您当前使用的网络中。只有您的设备在那里时，才请继续。',
  deviceWarning: '如果此代码或包含它的链接是他人发给您的，请取消。否则对方将以您的身份登录。',
  deviceDone: '您已登录。可以关闭此页面并返回您的设备。',
  codeUnknown: '没有这个代码。请核对后重新输入。',
  codeExpired: '此代码已过期。请在设备上重新开始。',
  codeUsed: '此代码已被使用。请在设备上重新开始。',
  aborted: '登录已取消。',
  failedTitle: '操作未成功',
  failed: '请求不完整或不正确。请重新开始。',
  begun: '此次登录用时过长，或者是在另一个浏览器中开始的。请重新开始。',
  details: '详细信息',
  factors: factorTexts.zh,
  links: linkTexts.zh,
  passkeys: passkeyTexts.zh,
  notices: noticeTexts.zh,
};

/** By primary language subtag. */
export const textsByLanguage: { readonly en: Texts; readonly [language: string]: Texts | undefined } = { en, de, zh };
