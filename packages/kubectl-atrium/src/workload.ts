/** Tokens of a machine user, which a workload gets for the token in a file, in place of a login (RFC 8693). */
import { readFile } from 'node:fs/promises';
import * as z from 'zod/mini';
import { issuerFetch } from './issuer-fetch.ts';
import { isFresh } from './kept-login.ts';
import { authorityOf, type LogInOptions } from './settings.ts';
import { CommandError, harmless, type Terminal } from './terminal.ts';
import { TokenCache } from './token-cache.ts';
import type { Tokens } from './tokens.ts';

export interface WorkloadOptions extends Pick<LogInOptions, 'caFile' | 'caData'> {
  /** File with the token of the workload. */
  workloadToken?: string;
  machineUser?: string;
  /** Address of the service. */
  console?: string;
}

const waitMs = 60_000;
const maxBytes = 16 * 1024;
const grant = 'urn:ietf:params:oauth:grant-type:token-exchange';
const tokenType = 'urn:ietf:params:oauth:token-type:jwt';

const answerSchema = z.object({ access_token: z.string(), expires_in: z.number() });
const refusalSchema = z.object({ error_description: z.string() });

/**
 * Returns stored tokens while they are valid, and exchanges the token of the workload otherwise. The file is read for each exchange, because
 * kubelets and pipelines renew it.
 *
 * @param isNew exchanges in any case
 * @throws CommandError
 */
export async function workloadTokens(options: WorkloadOptions, terminal: Terminal, { isNew = false } = {}): Promise<Tokens> {
  const { workloadToken: file = '', machineUser, console: address } = options;
  if (address === undefined) throw new CommandError('name the address of the console by --console');
  const service = address.replace(/\/$/, '');
  const logIn = { issuer: service, clientID: machineUser ?? '', scopes: 'workload', loginHint: file };
  const cache = new TokenCache(terminal);
  const kept = await cache.read(logIn);
  if (!isNew && isFresh(kept)) return kept;
  const renew = async () => {
    // Another process may have exchanged it first.
    const now = await cache.read(logIn);
    if (!isNew && isFresh(now)) return now;
    const token = await tokenIn(file);
    const form = { grant_type: grant, subject_token: token, subject_token_type: tokenType, ...(machineUser && { client_id: machineUser }) };
    const tokens = await exchanged(`${service}/oauth2/token`, form, await authorityOf(options), terminal);
    await cache.write(logIn, tokens);
    return tokens;
  };
  return cache.alone(logIn, renew, waitMs);
}

/** @throws CommandError for a file that cannot be read, or that has no token */
async function tokenIn(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown';
    throw new CommandError(`--workload-token: the file cannot be read (${code})`);
  });
  const token = text.trim();
  if (token === '' || token.length > maxBytes) throw new CommandError('--workload-token: the file has no token');
  return token;
}

async function exchanged(url: string, form: Record<string, string>, authority: string | undefined, terminal: Terminal): Promise<Tokens> {
  const { fetch, close } = issuerFetch(terminal, authority);
  const sentAt = Math.floor(Date.now() / 1000);
  try {
    const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await fetch(url, { method: 'POST', headers, body: new URLSearchParams(form), redirect: 'manual' });
    const body: unknown = await answer.json().catch(() => undefined);
    const given = answer.status === 200 ? answerSchema.safeParse(body).data : undefined;
    if (given) return { idToken: given.access_token, expiresAt: sentAt + given.expires_in };
    const why = refusalSchema.safeParse(body).data?.error_description ?? `the service answered ${answer.status}`;
    throw new CommandError(harmless(why));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { troubleOf } = await import('./issuer.ts');
    throw troubleOf('the service could not be asked', error, terminal);
  } finally {
    await close();
  }
}
