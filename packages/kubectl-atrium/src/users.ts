/** `users create`, `users link` and `users reset-factors`: calls of the service that has the embedded issuer. */
import { randomBytes } from 'node:crypto';
import * as z from 'zod/mini';
import { currentTokens, loginAgain, type Wanted } from './kept-login.ts';
import { recordName } from './record-name.ts';
import { CommandError, harmless, say, type Terminal } from './terminal.ts';
import type { Tokens } from './tokens.ts';

export interface LinkRequest {
  kind: string;
  seconds?: number;
  mail?: true;
}

export interface NewUser {
  email: string;
  username?: string;
}

const madeSchema = z.object({ url: z.optional(z.string()), expiresAt: z.string() });
const refusalSchema = z.object({
  message: z.string(),
  details: z.optional(z.object({ causes: z.optional(z.array(z.object({ reason: z.optional(z.string()) }))) })),
});

const issuerPath = '/identity';

/** Creates a local user with a random password, and a one-time link with which the user chooses another one. @throws CommandError */
export async function createUser(user: NewUser, { mail }: { mail?: true }, wanted: Wanted, terminal: Terminal): Promise<void> {
  // Every class of characters that a password policy can require.
  const password = `Aa1-${randomBytes(24).toString('base64url')}`;
  await ask({ method: 'POST', path: '', body: { spec: { ...user, password, must_change_password: true } } }, wanted, terminal);
  say(terminal, `The user ${harmless(user.email)} is made.`);
  await linkUser(user.email, { kind: 'invite', ...(mail && { mail }) }, wanted, terminal);
}

/** Creates a one-time link, and shows it unless it is mailed. @throws CommandError */
export async function linkUser(user: string, request: LinkRequest, wanted: Wanted, terminal: Terminal): Promise<void> {
  const { data: made } = madeSchema.safeParse(
    await ask({ method: 'POST', path: `/${nameOf(user)}/links`, body: request }, wanted, terminal),
  );
  if (made === undefined) throw new CommandError('the service answered with no link');
  if (made.url !== undefined) terminal.stdout.write(`${harmless(made.url)}\n`);
  say(
    terminal,
    `${made.url === undefined ? 'A link is mailed to the user. It' : 'The link'} works once, until ${harmless(made.expiresAt)}.`,
  );
}

/** Removes all second factors of a user who has lost them. @throws CommandError */
export async function resetFactors(user: string, wanted: Wanted, terminal: Terminal): Promise<void> {
  await ask({ method: 'DELETE', path: `/${nameOf(user)}/factors` }, wanted, terminal);
  say(terminal, 'The user has no second factor now, and all sessions have ended.');
}

interface Asked {
  method: 'POST' | 'DELETE';
  /** Path below the users. */
  path: string;
  body?: object;
}

/**
 * Sends a request to the service, and logs in again if it requires a fresh login.
 *
 * @returns the body of the answer
 * @throws CommandError for a refusal, too
 */
async function ask(asked: Asked, wanted: Wanted, terminal: Terminal): Promise<unknown> {
  const { issuer } = wanted.logIn;
  if (!issuer.endsWith(issuerPath)) throw new CommandError('this is for users of the embedded issuer, whose address ends with /identity');
  const url = `${issuer.slice(0, -issuerPath.length)}/auth/v1/users${asked.path}`;
  const first = await send(url, asked, await currentTokens(wanted, { isInteractive: true }, terminal), { wanted, terminal });
  const needsLogin = refusalOf(first)?.details?.causes?.some(({ reason }) => reason === 'StepUpRequired') ?? false;
  const answer = needsLogin ? await send(url, asked, await freshLogin(wanted, terminal), { wanted, terminal }) : first;
  if (answer.status >= 300) throw new CommandError(harmless(refusalOf(answer)?.message ?? `the service answered ${answer.status}`));
  return answer.body;
}

function freshLogin({ logIn, ways }: Wanted, terminal: Terminal): Promise<Tokens> {
  say(terminal, 'This wants a fresh login.');
  return loginAgain({ logIn, ways: { ...ways, isFresh: true } }, terminal);
}

/** Returns the name of a user record, by its name or its e-mail address. */
const nameOf = (user: string): string => (/^[0-9a-f]{32}$/.test(user) ? user : recordName(user));

interface Answer {
  status: number;
  body: unknown;
}

const refusalOf = ({ status, body }: Answer) => (status >= 400 ? refusalSchema.safeParse(body).data : undefined);

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
