/** Settings of the mail server. */
import { z } from 'zod';
import { hostOrAddress } from './formats.ts';
import { path } from './units.ts';

const mailbox = () =>
  z
    .string()
    .max(320)
    .regex(
      /^([^<>"\p{Cc}]{1,64} )?<?[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+@[A-Za-z0-9.-]+>?$/u,
      'must be an e-mail address, or a name and <address>',
    );

export const smtpSection = z.strictObject({
  host: hostOrAddress().optional().describe('Mail server. Without it no mail is sent.'),
  port: z.number().int().min(1).max(65_535).default(587).describe('Port of the mail server.'),
  tls: z
    .enum(['starttls', 'implicit', 'none'])
    .default('starttls')
    .describe('`starttls`: required, or nothing is sent. `implicit`: TLS from the first byte. `none`: for a server on this machine only.'),
  caFile: path().optional().describe('PEM certificate authority of the mail server, beside those of the system.'),
  userFile: path().optional().describe('File with the user name. Reread for each mail.'),
  passwordFile: path().optional().describe('File with the password. Reread for each mail.'),
  name: z
    .string()
    .max(255)
    .regex(/^(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[A-Za-z0-9:.]+\])$/, 'must be a host name, or an address in brackets')
    .optional()
    .describe('Name of this client in EHLO. Default: the host of `server.publicURL`.'),
  from: mailbox().optional().describe('Sender of the mail: `Atrium <no-reply@example.com>`.'),
});

const isThisMachine = (host: string) => ['localhost', '127.0.0.1', '::1'].includes(host);

/** Returns problems of settings that are valid alone and contradict each other, by the path of the setting to change. */
export function smtpContradictions({ host, tls, from, userFile, passwordFile }: z.output<typeof smtpSection>): Record<string, string> {
  return {
    ...(host !== undefined && from === undefined && { 'smtp.from': 'must be set with smtp.host' }),
    ...(host !== undefined &&
      tls === 'none' &&
      !isThisMachine(host) && {
        'smtp.tls': 'must be starttls or implicit unless the mail server is on this machine, because a link in a mail replaces a password',
      }),
    ...((userFile === undefined) !== (passwordFile === undefined) && { 'smtp.passwordFile': 'userFile and passwordFile are set together' }),
  };
}
