/** Links an account: the user proves a further account in the session that began this. User records are not merged. */
import type { Identity } from '@atrium/http/caller.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { conflict, type StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { auditOrigin } from '../../audit/audit.ts';
import { sessionEnded } from '../../sessions/account-state.ts';
import type { Session } from '../../sessions/browser-sessions.ts';
import type { SessionContext } from '../../sessions/context.ts';
import { sessionPayload } from '../../sessions/schema.ts';
import type { Notices } from '../../users/logins/notices.ts';
import { type Account, accountOf, recordName, withoutSubject } from '../../users/record/account.ts';
import { phaseOf } from '../../users/record/conditions.ts';
import { requireAccounts } from '../../users/record/lookup.ts';
import { UserRecords } from '../../users/record/records.ts';
import { readUser, recordedGroups, userResource } from '../../users/record/schema.ts';
import type { Callback, Proof } from '../callback.ts';
import { accountTaken, phaseRefused } from '../callback-errors.ts';
import { type LinkingUser, requireNewLogin } from '../flow.ts';
import type { Person } from '../user-info.ts';
import { requireLinkable, sessionOfLinkingUser } from './begin.ts';

/** Limit in the CustomResourceDefinition. */
const maxSubjects = 16;

/** Exceeds the duration of a callback. */
const holdMs = 60_000;

export interface LinkAccountNeeds {
  notices: Pick<Notices, 'add'>;
  /** Replaces the session, after all sessions of the user have ended. */
  keepSession(ctx: Context, of: { session: string }, signal: AbortSignal): Promise<Session | undefined>;
}

interface LinkAccountParts extends LinkAccountNeeds {
  callback: Callback;
}

interface ProvedAccount {
  proof: Proof;
  link: LinkingUser;
}

/** @throws StatusError 400, 401, 403, 409, 503, 504 */
export async function linkAccount(context: SessionContext, parts: LinkAccountParts, ctx: Context, proved: ProvedAccount): Promise<Person> {
  const { revokedTokens, log, now } = context;
  const { signal } = ctx.state;
  const { flow, tokens, login } = proved.proof;
  const { claims, issuer } = login;
  try {
    requireNewLogin(flow, claims);
    const identity = await parts.callback.identityOf(proved.proof, signal);
    const session = await sessionOfLinkingUser(context, ctx, proved.link);
    await parts.callback.useState(flow, signal);
    const until = new Date(now().getTime() + holdMs);
    const release = await revokedTokens.hold(`link ${JSON.stringify([claims.iss, claims.sub])}`, until, signal);
    if (release === undefined) throw linkedElsewhere(proved.link.user);
    try {
      return await linkClaimedAccount(context, parts, ctx, { ...proved, identity, session });
    } finally {
      await release().catch((error: unknown) =>
        log.warn({ err: error }, 'claim of an account could not be released, another link of it has to wait for some minutes'),
      );
    }
  } finally {
    // The login there was only a proof, so its tokens are not needed.
    if (tokens.refreshToken !== undefined) await issuer.discard(tokens.refreshToken);
  }
}

/** Links the account, while a claim keeps other requests from linking it. */
async function linkClaimedAccount(
  context: SessionContext,
  { notices, keepSession }: LinkAccountParts,
  ctx: Context,
  { proof, link, identity, session }: ProvedAccount & { identity: Identity; session: Session },
): Promise<Person> {
  const { accounts, audit, endAccess } = context;
  const { signal } = ctx.state;
  const { claims } = proof.login;
  await requireNoRecord(context, proof, identity, link, signal);
  const target = { name: link.user, uid: link.userUID };
  const change = (object: KubernetesObject) => {
    const account = accountOf(object);
    requireLinkable(account, session.row.subjectName);
    requireNormal(context, account);
    const old = readUser(object).status?.subjects ?? [];
    if (old.length >= maxSubjects || old.some(({ issuer }) => issuer === claims.iss)) throw alreadyLinked(account);
    return { subjects: [...old, entryOf(context, proof, identity)] };
  };
  const { metadata } = await endAccess({ user: target, change }, 'AccountLinked');
  await accounts.watch.waitForWrite(metadata.resourceVersion, signal);
  // The cache may have lagged before. Now that it has seen its own write, it has seen all earlier ones.
  const subject = { issuer: claims.iss, sub: claims.sub };
  const isOfAnother = accounts.ofIssuerSubject(subject).some(({ name }) => name !== link.user);
  if (isOfAnother) await endAccess({ user: target, change: (object) => withoutSubject(object, subject) }, 'AccountUnlinked');
  else {
    const actor = { name: session.row.subjectName, uid: session.row.userUID ?? '' };
    audit.record({ ...auditOrigin(ctx), audit: 'SubjectLinked', actor, target, outcome: 'success', code: 200 });
    await notices.add(target, 'AccountLinked');
  }
  const kept = await keepSession(ctx, { session: session.row.name }, signal);
  if (isOfAnother) throw accountTaken();
  if (kept === undefined) throw serviceUnavailable('kubernetes', { cause: new Error('the session could not be kept') });
  const person = await personOf(context, kept, signal);
  return { ...person, account: accounts.get(link.user), returnTo: proof.flow.returnTo };
}

function entryOf({ now }: SessionContext, { login: { claims, groups } }: Proof, identity: Identity): object {
  return {
    issuer: claims.iss,
    sub: claims.sub,
    subjectName: identity.name,
    groups: recordedGroups(groups.plain),
    linkedTime: timestamp(now()),
  };
}

/**
 * Refuses an account that has a user already: by its subject, by its name in Kubernetes, or by the login string from which its record
 * would be named. The last record is read from the API server, because it may have been created a moment ago.
 *
 * @throws StatusError 401, 503
 */
async function requireNoRecord(
  { accounts, client }: SessionContext,
  { login }: Proof,
  identity: Identity,
  { user }: LinkingUser,
  signal: AbortSignal,
): Promise<void> {
  requireAccounts(accounts);
  const { iss, sub } = login.claims;
  const known = [...accounts.ofIssuerSubject({ issuer: iss, sub }), accounts.ofSubject(identity.name)];
  if (known.some((account) => account !== undefined && account.name !== user)) throw accountTaken();
  const name = accounts.find(login.name)?.name ?? recordName(login.name);
  if (name === undefined || name === user) return;
  if ((await new UserRecords(client).readInstalled(name, signal)) !== undefined) throw accountTaken();
}

function requireNormal({ config, now }: SessionContext, account: Account): void {
  const phase = phaseOf(account, now(), config.users.idleDays);
  if (phase.phase !== 'Normal') throw phaseRefused(phase, now());
}

const alreadyLinked = ({ name }: Account): StatusError =>
  conflict(userResource, name, 'the user already has an account of this issuer, or has too many accounts');

const linkedElsewhere = (name: string): StatusError =>
  conflict(userResource, name, 'another request links this account of the issuer at this moment: try again');

async function personOf({ identify }: SessionContext, session: Session, signal: AbortSignal): Promise<Person> {
  const { tokens } = session.secrets;
  const { verified } = session;
  if (verified === undefined) throw sessionEnded();
  const identity = verified.issuer.settings.isForwarded
    ? (await identify({ token: tokens.bearer, hash: session.bearerHash }, signal)).identity
    : verified.identity;
  const token = sessionPayload(session.secrets);
  return { identity, login: verified, tokenStorage: 'cookie', expiresAt: tokens.bearerExpiresAt, token };
}
