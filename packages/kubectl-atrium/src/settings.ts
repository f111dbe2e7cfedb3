/** Settings of a login: its issuer, its client, and the options that all commands share. */
import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import * as z from 'zod/mini';
import { CommandError } from './terminal.ts';

/** Settings that distinguish one login from another, or that renewing it later requires. */
export const logInSchema = z.object({
  issuer: z.string(),
  clientID: z.string(),
  /** Separated by blanks, in alphabetical order. */
  scopes: z.string(),
  loginHint: z.optional(z.string()),
  /** PEM, in addition to the authorities of the system. */
  certificateAuthority: z.optional(z.string()),
  clientSecretFile: z.optional(z.string()),
  /** Place of the secret. Default: HTTP Basic. */
  clientAuthentication: z.optional(z.enum(['basic', 'post'])),
});
export type LogIn = z.infer<typeof logInSchema>;

/** Ways to ask the user. */
export interface Ways {
  /** Logs in on another device, by a code. */
  device: boolean;
  /** If false, the address is only shown. */
  opensBrowser: boolean;
  /** Ports in the order in which they are tried; 0 is any free one. */
  ports: readonly number[];
  timeoutMs: number;
  /** Requires the password again, even if the browser has a session. */
  isFresh?: boolean;
}

export interface LogInOptions {
  issuer?: string;
  clientId: string;
  scopes: string;
  loginHint?: string;
  caFile?: string;
  caData?: string;
  clientSecretFile?: string;
  clientAuthentication?: 'basic' | 'post';
  device?: boolean;
  browser: boolean;
  listenPort: number[];
  timeout: number;
}

const defaultScopes = 'openid email groups offline_access profile';

export function withLogInOptions(command: Command): Command {
  return command
    .option('--issuer <url>', 'OpenID issuer')
    .option('--client-id <id>', 'public client of the issuer', 'kubectl')
    .option('--scopes <scopes>', 'scopes, separated by spaces or commas', defaultScopes)
    .option('--login-hint <name>', 'user to log in; separates logins of several users')
    .option('--ca-file <file>', 'PEM certificate authority of the issuer, in addition to those of the system')
    .option('--ca-data <base64>', 'PEM certificate authority in base64')
    .option('--client-secret-file <file>', 'client secret of a confidential client')
    .addOption(
      new Option('--client-authentication <way>', 'place of the client secret: an HTTP Basic header, or the body').choices([
        'basic',
        'post',
      ]),
    )
    .option('--device', 'log in on another device, by a code')
    .option('--no-browser', 'print the address, and open no browser')
    .addOption(new Option('--listen-port <ports>', 'ports of the redirect URL (default: any)').argParser(portsOf).default([0], 'any'))
    .addOption(new Option('--timeout <seconds>', 'maximum duration of a login').argParser(secondsOf).default(300));
}

/** @throws CommandError for settings that cannot be used */
export async function logInOf(options: LogInOptions): Promise<LogIn> {
  const { issuer, clientId: clientID, loginHint, clientSecretFile, clientAuthentication } = options;
  if (issuer === undefined) throw new CommandError('name the issuer by --issuer');
  if (!isSafe(issuer)) throw new CommandError('--issuer must be an https URL; plain http is for this machine only');
  const scopes = [...new Set(options.scopes.split(/[\s,]+/).filter(Boolean))].sort();
  if (!scopes.includes('openid')) throw new CommandError('--scopes must hold openid');
  const certificateAuthority = await authorityOf(options);
  return {
    issuer,
    clientID,
    scopes: scopes.join(' '),
    ...(loginHint !== undefined && { loginHint }),
    ...(certificateAuthority !== undefined && { certificateAuthority }),
    ...(clientSecretFile !== undefined && { clientSecretFile }),
    ...(clientAuthentication !== undefined && { clientAuthentication }),
  };
}

export const waysOf = ({ device = false, browser, listenPort, timeout }: LogInOptions): Ways => ({
  device,
  opensBrowser: browser,
  ports: listenPort,
  timeoutMs: timeout * 1000,
});

/** @throws CommandError */
export async function readNamed(option: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown';
    throw new CommandError(`${option}: the file cannot be read (${code})`);
  }
}

export async function authorityOf({ caFile, caData }: Pick<LogInOptions, 'caFile' | 'caData'>): Promise<string | undefined> {
  if (caFile === undefined && caData === undefined) return undefined;
  const text = caFile === undefined ? Buffer.from(caData ?? '', 'base64').toString() : await readNamed('--ca-file', caFile);
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new CommandError('--ca-file and --ca-data must hold a PEM certificate');
  return text;
}

/** Reports whether a token may be sent to the address. */
export function isSafe(issuer: string): boolean {
  if (!URL.canParse(issuer)) return false;
  const { protocol, hostname, search, hash } = new URL(issuer);
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return (protocol === 'https:' || (protocol === 'http:' && isHere)) && search === '' && hash === '';
}

function portsOf(text: string): number[] {
  const ports = text.split(',').map(Number);
  if (!ports.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535))
    throw new InvalidArgumentError('must be ports, such as 8000,18000');
  return ports;
}

function secondsOf(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('must be 1 to 9999');
  return Number(text);
}
