/** `users create`, `users link` and `users reset-factors`: calls of the service that has the embedded issuer. */
import { randomBytes } from 'node:crypto';
import * as z from 'zod/mini';
import type { Wanted } from './kept-login.ts';
import { recordNamed } from './record-name.ts';
import { askService } from './service.ts';
import { CommandError, harmless, say, type Terminal } from './terminal.ts';

export interface LinkRequest {
  kind: string;
  seconds?: number;
  mail?: true;
}

export interface NewUser {
  email: string;
  username?: string;
}

const users = '/auth/v1/users';

const madeSchema = z.object({ url: z.optional(z.string()), expiresAt: z.string() });
/** Creates a local user with a random password, and a one-time link with which the user chooses another one. @throws CommandError */
export async function createUser(user: NewUser, { mail }: { mail?: true }, wanted: Wanted, terminal: Terminal): Promise<void> {
  // Every class of characters that a password policy can require.
  const password = `Aa1-${randomBytes(24).toString('base64url')}`;
  await askService({ method: 'POST', path: users, body: { spec: { ...user, password, must_change_password: true } } }, wanted, terminal);
  say(terminal, `The user ${harmless(user.email)} is made.`);
  await linkUser(user.email, { kind: 'invite', ...(mail && { mail }) }, wanted, terminal);
}

/** Creates a one-time link, and shows it unless it is mailed. @throws CommandError */
export async function linkUser(user: string, request: LinkRequest, wanted: Wanted, terminal: Terminal): Promise<void> {
  const { data: made } = madeSchema.safeParse(
    await askService({ method: 'POST', path: `${users}/${recordNamed(user)}/links`, body: request }, wanted, terminal),
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
  await askService({ method: 'DELETE', path: `${users}/${recordNamed(user)}/factors` }, wanted, terminal);
  say(terminal, 'The user has no second factor now, and all sessions have ended.');
}
