/** Calls of the service, with the token that kubectl uses. */
import * as z from 'zod/mini';
import { currentTokens, logInAgain, type Wanted } from './kept-login.ts';
import { linesOf } from './lines.ts';
import { CommandError, harmless, say, type Terminal } from './terminal.ts';
import type { Tokens } from './tokens.ts';

const refusalSchema = z.object({
  message: z.string(),
  details: z.optional(z.object({ causes: z.optional(z.array(z.object({ reason: z.optional(z.string()) }))) })),
});

const issuerPath = '/identity';

export interface Asked {
  method: 'GET' | 'POST' | 'DELETE';
  /** Path of an operation, with its query. */
  path: string;
  body?: object;
}

/**
 * Sends a request to the service, and logs in again if it requires a fresh login.
 *
 * @returns the body of the answer
 * @throws CommandError for a refusal, too
 */
export async function askService(asked: Asked, wanted: Wanted, terminal: Terminal): Promise<unknown> {
  const url = `${serviceOf(wanted)}${asked.path}`;
  const first = await send(url, asked, await currentTokens(wanted, { isInteractive: true }, terminal), { wanted, terminal });
  const needsLogin = refusalOf(first)?.details?.causes?.some(({ reason }) => reason === 'StepUpRequired') ?? false;
  const answer = needsLogin ? await send(url, asked, await freshLogin(wanted, terminal), { wanted, terminal }) : first;
  if (answer.status >= 300) throw refusal(answer);
  return answer.body;
}

/** Reads a long answer of the service in parts. @throws CommandError, also if the answer breaks off */
export async function* readService(
  path: string,
  wanted: Wanted,
  terminal: Terminal,
  headers: Readonly<Record<string, string>> = {},
): AsyncGenerator<Uint8Array> {
  const { issuerFetch } = await import('./issuer-fetch.ts');
  const { troubleOf } = await import('./issuer.ts');
  const { idToken } = await currentTokens(wanted, { isInteractive: true }, terminal);
  const { read, close } = issuerFetch(terminal, wanted.logIn.certificateAuthority);
  try {
    const { status, body } = await read(`${serviceOf(wanted)}${path}`, { ...headers, authorization: `Bearer ${idToken}` });
    if (status >= 300) throw refusal({ status, body: await bodyOf(body) });
    yield* body;
  } catch (error) {
    throw error instanceof CommandError ? error : troubleOf('the answer of the service broke off', error, terminal);
  } finally {
    await close();
  }
}

/** Returns the address of the service: the given one, or the one that has the embedded issuer. */
function serviceOf({ logIn: { issuer }, service }: Wanted): string {
  if (service !== undefined) return service.replace(/\/$/, '');
  if (issuer.endsWith(issuerPath)) return issuer.slice(0, -issuerPath.length);
  throw new CommandError('this command requires the embedded issuer: use an issuer whose address ends with /identity');
}

function freshLogin({ logIn, ways }: Wanted, terminal: Terminal): Promise<Tokens> {
  say(terminal, 'This operation requires a recent login.');
  return logInAgain({ logIn, ways: { ...ways, isFresh: true } }, terminal);
}

interface Answer {
  status: number;
  body: unknown;
}

const refusalOf = ({ status, body }: Answer) => (status >= 400 ? refusalSchema.safeParse(body).data : undefined);

const refusal = (answer: Answer): CommandError =>
  new CommandError(harmless(refusalOf(answer)?.message ?? `the service answered ${answer.status}`), { status: answer.status });

/** Reads a short answer; undefined for one that is longer, or no JSON. */
async function bodyOf(chunks: AsyncIterable<Uint8Array>): Promise<unknown> {
  try {
    for await (const line of linesOf(chunks)) return JSON.parse(line);
  } catch {
    // The status of the answer tells enough.
  }
  return undefined;
}

async function send(
  url: string,
  { method, body }: Asked,
  { idToken }: Tokens,
  { wanted, terminal }: { wanted: Wanted; terminal: Terminal },
): Promise<Answer> {
  const { issuerFetch } = await import('./issuer-fetch.ts');
  const { troubleOf } = await import('./issuer.ts');
  const { fetch, close } = issuerFetch(terminal, wanted.logIn.certificateAuthority);
  try {
    const headers = { authorization: `Bearer ${idToken}`, accept: 'application/json', ...(body && { 'content-type': 'application/json' }) };
    const answer = await fetch(url, { method, headers, redirect: 'manual', body: body && JSON.stringify(body) });
    return { status: answer.status, body: await answer.json().catch(() => undefined) };
  } catch (error) {
    throw troubleOf('the service could not be asked', error, terminal);
  } finally {
    await close();
  }
}
