/** Everything that a person reads where a second factor is asked for or set up. */
export interface FactorTexts {
  readonly title: string;
  readonly ask: string;
  readonly code: string;
  /** Tells nothing about why. */
  readonly refused: string;
  readonly lost: string;
  readonly setUpTitle: string;
  readonly setUp: string;
  /** @param until a date */
  readonly due: (until: string) => string;
  readonly picture: string;
  readonly secret: string;
  readonly confirm: string;
  readonly wrongCode: string;
  readonly save: string;
  readonly later: string;
  readonly codesTitle: string;
  readonly codes: string;
  readonly kept: string;
  readonly overdueTitle: string;
  readonly overdue: string;
}

const en: FactorTexts = {
  title: 'Second step',
  ask: 'Enter the code that your authenticator app shows, or one of your recovery codes.',
  code: 'Code',
  refused: 'This code is not right or was used already, or the account may not log in at the moment. Wait for the next code and try again.',
  lost: 'Lost your phone and your recovery codes? An administrator can make a link for you, with which you set up a new one.',
  setUpTitle: 'Set up a second step',
  setUp: 'Scan the picture with an authenticator app. From then on each login asks for a code of it.',
  due: (until) => `For your account a second step is required. You can put it off until ${until}.`,
  picture: 'QR code for your authenticator app',
  secret: 'Or enter this key by hand:',
  confirm: 'Code that the app shows now',
  wrongCode: 'This code is not right. Check the clock of your phone and enter the code that the app shows now.',
  save: 'Set up',
  later: 'Not now',
  codesTitle: 'Your recovery codes',
  codes: 'Each of these codes lets you log in once without your phone. Print them or write them down: they are shown only now.',
  kept: 'I have kept them: continue',
  overdueTitle: 'A second step is required',
  overdue:
    'For your account a second step is required, and the time to set it up is over. An administrator can make a link for you, with which you set it up.',
};

const de: FactorTexts = {
  title: 'Zweiter Schritt',
  ask: 'Geben Sie den Code ein, den Ihre Authenticator-App anzeigt, oder einen Ihrer Wiederherstellungscodes.',
  code: 'Code',
  refused:
    'Dieser Code stimmt nicht oder wurde schon benutzt, oder das Konto darf sich zurzeit nicht anmelden. Warten Sie auf den nächsten Code und versuchen Sie es noch einmal.',
  lost: 'Telefon und Wiederherstellungscodes verloren? Die Administration kann Ihnen einen Link geben, über den Sie diesen Schritt neu einrichten.',
  setUpTitle: 'Zweiten Schritt einrichten',
  setUp: 'Lesen Sie das Bild mit einer Authenticator-App ein. Von da an fragt jede Anmeldung nach einem Code daraus.',
  due: (until) => `Für Ihr Konto ist ein zweiter Schritt vorgeschrieben. Sie können ihn bis ${until} aufschieben.`,
  picture: 'QR-Code für Ihre Authenticator-App',
  secret: 'Oder geben Sie diesen Schlüssel von Hand ein:',
  confirm: 'Code, den die App jetzt anzeigt',
  wrongCode: 'Dieser Code stimmt nicht. Prüfen Sie die Uhr Ihres Telefons und geben Sie den Code ein, den die App jetzt anzeigt.',
  save: 'Einrichten',
  later: 'Nicht jetzt',
  codesTitle: 'Ihre Wiederherstellungscodes',
  codes:
    'Mit jedem dieser Codes können Sie sich einmal ohne Ihr Telefon anmelden. Drucken Sie sie aus oder schreiben Sie sie auf: Sie werden nur jetzt angezeigt.',
  kept: 'Ich habe sie aufbewahrt: weiter',
  overdueTitle: 'Ein zweiter Schritt ist vorgeschrieben',
  overdue:
    'Für Ihr Konto ist ein zweiter Schritt vorgeschrieben, und die Zeit, ihn einzurichten, ist vorbei. Die Administration kann Ihnen einen Link geben, über den Sie ihn einrichten.',
};

const zh: FactorTexts = {
  title: '第二步验证',
  ask: '请输入身份验证器应用显示的代码，或您的一个恢复代码。',
  code: '代码',
  refused: '此代码不正确或已被使用，或者该账户目前不能登录。请等待下一个代码后重试。',
  lost: '手机和恢复代码都丢失了？管理员可以为您生成用于重新设置此步骤的链接。',
  setUpTitle: '设置第二步验证',
  setUp: '请用身份验证器应用扫描图片。此后每次登录都会要求输入其中的代码。',
  due: (until) => `您的账户必须使用第二步验证。您可以推迟到 ${until}。`,
  picture: '用于身份验证器应用的二维码',
  secret: '或手动输入此密钥：',
  confirm: '应用当前显示的代码',
  wrongCode: '此代码不正确。请检查手机的时钟，并输入应用当前显示的代码。',
  save: '设置',
  later: '以后再说',
  codesTitle: '您的恢复代码',
  codes: '每个代码可让您在没有手机时登录一次。请打印或抄写下来：它们只在此时显示。',
  kept: '我已保存：继续',
  overdueTitle: '必须使用第二步验证',
  overdue: '您的账户必须使用第二步验证，而设置的期限已过。管理员可以为您生成用于设置的链接。',
};

export const factorTexts = { en, de, zh };
