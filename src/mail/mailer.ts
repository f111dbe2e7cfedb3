import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/schema.ts';
import { readSecretFile } from '../config/secret-file.ts';
import { tlsTrust } from '../http/outgoing.ts';
import { abortable } from '../kubernetes/deadline.ts';

export interface Mail {
  to: string;
  subject: string;
  text: string;
}

/** Pauses before the second and the third attempt. */
const pausesMs = [1_000, 5_000];
/** Timeout of a whole attempt, so that a slow server does not occupy a place in the queue. */
const tryMs = 20_000;
const silenceMs = 10_000;
const minVersion = 'TLSv1.2';

/** Settings that name a mail server. */
type SmtpSettings = Config['smtp'] & { host: string; from: string };

export const isMailSet = (smtp: Config['smtp']): smtp is SmtpSettings => smtp.host !== undefined && smtp.from !== undefined;

/** Reports whether mail can be sent to an account. Some users log in with a name that is no address. */
export const hasAddress = ({ email }: { email: string }): boolean => email.includes('@');

/** Hands a mail to the mail server in up to three attempts. @throws Error if the server does not accept it; the signal's reason */
export async function sendMail(smtp: SmtpSettings, mail: Mail, signal: AbortSignal): Promise<void> {
  for (const pauseMs of [...pausesMs, undefined]) {
    try {
      return await tryToSend(smtp, mail, signal);
    } catch (error) {
      if (signal.aborted || pauseMs === undefined || isFinal(error)) throw error;
      await sleep(pauseMs, undefined, { signal });
    }
  }
}

/** Reports a permanent refusal (RFC 5321, 4.2.1). The server would refuse a retry, too. */
const isFinal = (error: unknown): boolean =>
  error instanceof Error && 'responseCode' in error && typeof error.responseCode === 'number' && error.responseCode >= 500;

/** Makes one attempt. Reads the files each time, because they may be rotated. */
async function tryToSend({ host, port, tls, caFile, userFile, passwordFile, from }: SmtpSettings, mail: Mail, signal: AbortSignal) {
  const [{ createTransport }, trust, user, pass] = await Promise.all([
    import('nodemailer'),
    tlsTrust(caFile, minVersion),
    secretOf(userFile),
    secretOf(passwordFile),
  ]);
  const transport = createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'none',
    tls: { minVersion, ...trust },
    ...(user !== undefined && pass !== undefined && { auth: { user, pass } }),
    connectionTimeout: silenceMs,
    greetingTimeout: silenceMs,
    socketTimeout: silenceMs,
    dnsTimeout: silenceMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const sending = transport.sendMail({ ...mail, from, headers: { 'Auto-Submitted': 'auto-generated' } });
    await abortable(sending, AbortSignal.any([signal, AbortSignal.timeout(tryMs)]));
  } finally {
    transport.close();
  }
}

const secretOf = async (file: string | undefined) => (file === undefined ? undefined : await readSecretFile(file));
