/** What a person reads about passkeys. */
export interface PasskeyTexts {
  readonly logIn: string;
  /** After the password, by what there is beside it. */
  readonly ask: string;
  readonly askOrCode: string;
  readonly use: string;
  /** Tells nothing about why. */
  readonly refused: string;
  readonly refusedAlone: string;
  readonly passwordFirst: string;
  /** The browser has given none. */
  readonly failed: string;
  readonly unsupported: string;
  readonly setUpTitle: string;
  readonly setUp: string;
  readonly name: string;
  readonly create: string;
  readonly problems: Readonly<Record<'refused' | 'known' | 'tooMany', string>>;
  readonly instead: string;
  readonly appInstead: string;
}

const en: PasskeyTexts = {
  logIn: 'Log in with a passkey',
  ask: 'Use your passkey, or enter one of your recovery codes.',
  askOrCode: 'Use your passkey, or enter the code that your authenticator app shows, or one of your recovery codes.',
  use: 'Use a passkey',
  refused: 'This passkey does not count here, or the account may not log in at the moment.',
  refusedAlone:
    'This passkey does not count here, it took too long, or the account may not log in at the moment. Try again, or log in with your password.',
  passwordFirst: 'Your account logs in with its password first. The passkey is asked after it.',
  failed: 'The browser gave no passkey. Try again.',
  unsupported: 'This browser cannot use passkeys here.',
  setUpTitle: 'Set up a passkey',
  setUp: 'With a passkey you log in by fingerprint, by face, or with the PIN of your device or security key: without your password.',
  name: 'Name of the passkey, such as the device (optional)',
  create: 'Create a passkey',
  problems: {
    refused: 'The passkey was not accepted. Try again.',
    known: 'This passkey belongs to an account already.',
    tooMany: 'You have as many passkeys as an account can have. Remove one first.',
  },
  instead: 'Set up a passkey instead',
  appInstead: 'Set up an authenticator app instead',
};

const de: PasskeyTexts = {
  logIn: 'Mit einem Passkey anmelden',
  ask: 'Verwenden Sie Ihren Passkey, oder geben Sie einen Ihrer Wiederherstellungscodes ein.',
  askOrCode:
    'Verwenden Sie Ihren Passkey, oder geben Sie den Code ein, den Ihre Authenticator-App anzeigt, oder einen Ihrer Wiederherstellungscodes.',
  use: 'Einen Passkey verwenden',
  refused: 'Dieser Passkey gilt hier nicht, oder das Konto darf sich zurzeit nicht anmelden.',
  refusedAlone:
    'Dieser Passkey gilt hier nicht, es hat zu lange gedauert, oder das Konto darf sich zurzeit nicht anmelden. Versuchen Sie es noch einmal, oder melden Sie sich mit Ihrem Passwort an.',
  passwordFirst: 'Ihr Konto meldet sich zuerst mit dem Passwort an. Danach wird nach dem Passkey gefragt.',
  failed: 'Der Browser hat keinen Passkey geliefert. Versuchen Sie es noch einmal.',
  unsupported: 'Dieser Browser kann hier keine Passkeys verwenden.',
  setUpTitle: 'Passkey einrichten',
  setUp:
    'Mit einem Passkey melden Sie sich mit Fingerabdruck, Gesicht oder der PIN Ihres Geräts oder Sicherheitsschlüssels an: ohne Passwort.',
  name: 'Name des Passkeys, etwa das Gerät (freiwillig)',
  create: 'Passkey erstellen',
  problems: {
    refused: 'Der Passkey wurde nicht angenommen. Versuchen Sie es noch einmal.',
    known: 'Dieser Passkey gehört schon zu einem Konto.',
    tooMany: 'Sie haben so viele Passkeys, wie ein Konto haben kann. Entfernen Sie zuerst einen.',
  },
  instead: 'Stattdessen einen Passkey einrichten',
  appInstead: 'Stattdessen eine Authenticator-App einrichten',
};

const zh: PasskeyTexts = {
  logIn: '使用通行密钥登录',
  ask: '请使用您的通行密钥，或输入您的一个恢复代码。',
  askOrCode: '请使用您的通行密钥，或输入身份验证器应用显示的代码，或您的一个恢复代码。',
  use: '使用通行密钥',
  refused: '此通行密钥在此无效，或者该账户目前不能登录。',
  refusedAlone: '此通行密钥在此无效，或操作超时，或者该账户目前不能登录。请重试，或使用密码登录。',
  passwordFirst: '您的账户需要先用密码登录，然后才会要求使用通行密钥。',
  failed: '浏览器没有提供通行密钥。请重试。',
  unsupported: '此浏览器无法在此使用通行密钥。',
  setUpTitle: '设置通行密钥',
  setUp: '有了通行密钥，您可以用指纹、面容，或设备或安全密钥的 PIN 登录，无需密码。',
  name: '通行密钥的名称，例如设备（可选）',
  create: '创建通行密钥',
  problems: {
    refused: '通行密钥未被接受。请重试。',
    known: '此通行密钥已属于某个账户。',
    tooMany: '您的通行密钥数量已达账户上限。请先移除一个。',
  },
  instead: '改为设置通行密钥',
  appInstead: '改为设置身份验证器应用',
};

export const passkeyTexts = { en, de, zh };
