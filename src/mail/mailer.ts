import { isIP } from 'node:net';
import { tlsTrust } from '@atrium/http/outgoing.ts';
import { readSecretFile } from '@atrium/http/secret-file.ts';
import { abortable } from '@atrium/kubernetes/deadline.ts';
import { hostOf } from '../config/access-requests-section.ts';
import type { Config } from '../config/schema.ts';

export interface Mail {
  to: string;
  subject: string;
  text: string;
}

/** Begins of the attempts, in milliseconds after the first one. Greylisting mostly ends within minutes, and always within an hour. */
export const mailAttemptsAtMs: readonly number[] = [0, 1_000, 6_000, 60_000, 300_000, 900_000, 1_800_000, 3_600_000];
const quickAttempts = 3;
/** Codes of nodemailer and Node.js for a mail server that cannot be reached. */
const connectionCodes: ReadonlySet<unknown> = new Set(['ECONNECTION', 'ECONNREFUSED', 'ECONNRESET', 'EDNS', 'ESOCKET', 'ETIMEDOUT']);
/** Timeout of a whole attempt, so that a slow server does not occupy a place in the queue. */
const tryMs = 20_000;
const silenceMs = 10_000;
const minVersion = 'TLSv1.2';

/** Settings that name a mail server. */
type SmtpSettings = Config['smtp'] & { host: string; from: string };

type MailConfig = Pick<Config, 'smtp' | 'server'>;

export const isMailSet = (smtp: Config['smtp']): smtp is SmtpSettings => smtp.host !== undefined && smtp.from !== undefined;

/** Reports whether mail can be sent to an account. Some users log in with a name that is no address. */
export const hasAddress = ({ email }: { email: string }): boolean => email.includes('@');

/**
 * Returns the number of attempts for a mail that failed with this error: one after a permanent refusal (RFC 5321, 4.2.1), three if the
 * settings are probably wrong, and all within the hour after a temporary refusal, such as greylisting, or without a connection.
 */
export function attemptsAfter(error: unknown): number {
  if (!(error instanceof Error)) return quickAttempts;
  const { responseCode: code } = error as { responseCode?: unknown };
  if (typeof code === 'number') return code >= 500 ? 1 : mailAttemptsAtMs.length;
  const isUnreachable = error.name === 'TimeoutError' || ('code' in error && connectionCodes.has(error.code));
  return isUnreachable ? mailAttemptsAtMs.length : quickAttempts;
}

/** Returns the name of the client in EHLO. A pod's own name has no dot, and relays refuse it or a loopback address. */
function clientName({ smtp, server }: MailConfig): string | undefined {
  if (smtp.name !== undefined || server.publicURL === undefined) return smtp.name;
  const host = hostOf(server.publicURL);
  const family = isIP(host);
  if (family === 0) return host;
  // RFC 5321, 4.1.3
  return family === 4 ? `[${host}]` : `[IPv6:${host}]`;
}

/**
 * Makes one attempt to hand a mail to the mail server. Reads the files each time, because they may be rotated.
 *
 * @throws Error if the server does not accept it; the signal's reason
 */
export async function sendMail(config: MailConfig, mail: Mail, signal: AbortSignal): Promise<void> {
  const { smtp } = config;
  if (!isMailSet(smtp)) return;
  const { host, port, tls, caFile, userFile, passwordFile, from } = smtp;
  const name = clientName(config);
  const [{ createTransport }, trust, user, pass] = await Promise.all([
    import('nodemailer'),
    tlsTrust(caFile, minVersion),
    secretOf(userFile),
    secretOf(passwordFile),
  ]);
  const transport = createTransport({
    host,
    port,
    ...(name !== undefined && { name }),
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
