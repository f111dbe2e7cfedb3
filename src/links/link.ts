import { z } from 'zod';
import type { Seal } from '../keys/seal.ts';
import { nextSecond, timestamp } from '../kubernetes/timestamp.ts';
import type { PasswordState } from '../users/passwords/change.ts';
import { type Account, accountOf } from '../users/record/account.ts';
import { phaseOf } from '../users/record/phase.ts';
import { readUser } from '../users/record/schema.ts';

/** What a link is for: a password that was forgotten, the first one of a new user, or a second factor beside the password. */
export const linkKinds = ['password', 'invite', 'enrol'] as const;
/** What the audit trail calls them. */
export const auditReasons = { password: 'Password', invite: 'Invite', enrol: 'Enrol' } as const;

export type LinkKind = (typeof linkKinds)[number];

const linkSchema = z.object({
  kind: z.enum(linkKinds),
  name: z.string(),
  uid: z.string(),
  /** The password that the user had, and what the record told of links: a link of another state counts no longer. */
  state: z.array(z.string()),
  /** Unix seconds. */
  exp: z.number(),
});

/** Nothing is stored of it: all that it is worth is sealed in it, and what is written when it is used makes it worth nothing. */
export type Link = Readonly<z.output<typeof linkSchema>>;

/** When the password was changed, by its Secret and by the record, and since when links count. */
function stateOf({ object, stored }: PasswordState): string[] {
  const { status: { passwordChangedTime = '', linksNotBefore = '' } = {} } = readUser(object);
  return [stored === undefined ? 'none' : stored.changedAt, passwordChangedTime, linksNotBefore];
}

/** A text for an address, with which that user is known again as long as nothing of this has changed. @throws StatusError 503 */
export function sealLink(seal: Seal, kind: LinkKind, state: PasswordState, expiresAt: Date): string {
  const { name, uid } = state.object.metadata;
  const link: Link = { kind, name, uid, state: stateOf(state), exp: Math.floor(expiresAt.getTime() / 1000) };
  return seal.seal(JSON.stringify(link));
}

/** Undefined for what was made up. */
export async function openLink(seal: Seal, token: string): Promise<Link | undefined> {
  const text = await seal.open(token);
  return text === undefined ? undefined : linkSchema.safeParse(JSON.parse(text)).data;
}

export interface LinkRules {
  now: Date;
  idleDays: number;
}

/** Whether a link counts still, for the user as they are. */
export function isCurrent(link: Link, state: PasswordState, rules: LinkRules): boolean {
  const isSame = stateOf(state).every((part, index) => part === link.state[index]);
  const isOver = rules.now.getTime() / 1000 >= link.exp;
  return isSame && !isOver && refusalOf(link.kind, state, rules) === undefined;
}

/** Why a user gets no link of that kind; undefined for one who does. */
export function refusalOf(kind: LinkKind, { object }: PasswordState, { now, idleDays }: LinkRules): string | undefined {
  const account = accountOf(object);
  // Users of a directory set up second factors here, too.
  const isHere = account.connectorType === 'local' || (kind === 'enrol' && account.connectorType === 'ldap');
  if (!isHere) return 'the user is not local: the password is kept at the source';
  if (!mayHaveLink(account, { now, idleDays })) return 'the user may not log in';
  const hasLoggedIn = readUser(object).status?.lastLoginTime !== undefined;
  return kind === 'invite' && hasLoggedIn ? 'the user has logged in already: make a link of the kind password' : undefined;
}

/** A lock keeps none from a new password: it is often why there is to be one. */
function mayHaveLink(account: Account, { now, idleDays }: LinkRules): boolean {
  const { phase } = phaseOf(account, now, idleDays);
  return phase === 'Normal' || phase === 'Locked';
}

/** What makes all links of a user void: later than any time that was written before. */
export function linksEndAt({ object }: PasswordState, now: Date): string {
  const last = Date.parse(readUser(object).status?.linksNotBefore ?? '');
  const next = nextSecond(now).getTime();
  return timestamp(new Date(Number.isNaN(last) ? next : Math.max(next, last + 1000)));
}
