/** `users link`: a one-time link, made at the service that the embedded issuer belongs to. */
import { hash } from 'node:crypto';
import * as z from 'zod/mini';
import { currentTokens, loginAgain, type Wanted } from './kept-login.ts';
import { CommandError, harmless, say, type Terminal } from './terminal.ts';
import type { Tokens } from './tokens.ts';

export interface LinkRequest {
  kind: string;
  seconds?: number;
  mail?: true;
}

const madeSchema = z.object({ url: z.optional(z.string()), expiresAt: z.string() });
const refusalSchema = z.object({
  message: z.string(),
  details: z.optional(z.object({ causes: z.optional(z.array(z.object({ reason: z.optional(z.string()) }))) })),
});

const issuerPath = '/identity';

/** Logs in once more where the service wants a fresh login. @throws CommandError */
export async function linkUser(user: string, request: LinkRequest, wanted: Wanted, terminal: Terminal): Promise<void> {
  const { issuer } = wanted.logIn;
  if (!issuer.endsWith(issuerPath)) throw new CommandError('links are for users of the embedded issuer, whose address ends with /identity');
  const url = `${issuer.slice(0, -issuerPath.length)}/auth/v1/users/${nameOf(user)}/links`;
  const send = (tokens: Tokens) => post(url, request, tokens, wanted, terminal);
  const first = await send(await currentTokens(wanted, { isInteractive: true }, terminal));
  const needsLogin = refusalOf(first)?.details?.causes?.some(({ reason }) => reason === 'StepUpRequired') ?? false;
  const answer = needsLogin ? await send(await freshLogin(wanted, terminal)) : first;
  const { success, data: made } = madeSchema.safeParse(answer.body);
  if (answer.status >= 300 || !success)
    throw new CommandError(harmless(refusalOf(answer)?.message ?? `the service answered ${answer.status}`));
  if (made.url !== undefined) terminal.stdout.write(`${harmless(made.url)}\n`);
  say(
    terminal,
    `${made.url === undefined ? 'A link is mailed to the user. It' : 'The link'} works once, until ${harmless(made.expiresAt)}.`,
  );
}

function freshLogin({ logIn, ways }: Wanted, terminal: Terminal): Promise<Tokens> {
  say(terminal, 'This wants a fresh login.');
  return loginAgain({ logIn, ways: { ...ways, isFresh: true } }, terminal);
}

/** Of a record, or of the record of an address. */
const nameOf = (user: string): string => (/^[0-9a-f]{32}$/.test(user) ? user : hash('sha256', user.toLowerCase()).slice(0, 32));

interface Answer {
  status: number;
  body: unknown;
}

const refusalOf = ({ status, body }: Answer) => (status >= 400 ? refusalSchema.safeParse(body).data : undefined);

async function post(url: string, request: LinkRequest, { idToken }: Tokens, { logIn }: Wanted, terminal: Terminal): Promise<Answer> {
  const { issuerFetch } = await import('./issuer-fetch.ts');
  const { troubleOf } = await import('./issuer.ts');
  const { fetch, close } = issuerFetch(terminal, logIn.certificateAuthority);
  try {
    const headers = { authorization: `Bearer ${idToken}`, 'content-type': 'application/json', accept: 'application/json' };
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(request), redirect: 'manual' });
    const body: unknown = await answer.json().catch(() => undefined);
    return { status: answer.status, body };
  } catch (error) {
    throw troubleOf('the link could not be made', error, terminal);
  } finally {
    await close();
  }
}
