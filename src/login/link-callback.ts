/** The end of linking: a second account is proved, in the session that asked for it. Nothing is merged. */
import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { conflict, type StatusError, serviceUnavailable } from '../api/status.ts';
import { auditOrigin } from '../http/audit.ts';
import type { Identity } from '../http/operation.ts';
import { stateOf } from '../http/router.ts';
import { identityOf, loginOf, plainGroupsOf } from '../issuer/claims.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import { seenWithinMs } from '../kubernetes/until.ts';
import type { Session } from '../sessions/browser-sessions.ts';
import type { SessionContext } from '../sessions/context.ts';
import { sessionPayload } from '../sessions/renew-payload.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { PasswordChange } from '../users/passwords/change.ts';
import { type Account, accountOf } from '../users/record/account.ts';
import { recordedGroups } from '../users/record/bounds.ts';
import { requireAccounts } from '../users/record/lookup.ts';
import { recordName } from '../users/record/name.ts';
import { phaseOf } from '../users/record/phase.ts';
import { UserRecords } from '../users/record/records.ts';
import { userResource } from '../users/record/resource.ts';
import { readUser } from '../users/record/schema.ts';
import type { Callback, Proof } from './callback.ts';
import { otherSubject, phaseRefused } from './callback-errors.ts';
import type { FlowLink } from './flow.ts';
import { requireLinkable, sessionOfLink } from './linking.ts';
import { requireNewLogin } from './step-up.ts';
import type { Person } from './user-info.ts';

/** As the definition has it. */
const maxSubjects = 16;

export interface LinkNeeds {
  endAccess: PasswordChange['endAccess'];
  notices: Pick<Notices, 'add'>;
  /** Gives the session a successor when all have ended. */
  keepSession(ctx: Context, of: { session: string }, signal: AbortSignal): Promise<Session | undefined>;
}

/** @throws StatusError 400, 401, 403, 409, 503 */
export async function finishLink(
  context: SessionContext,
  { callback, endAccess, notices, keepSession }: LinkNeeds & { callback: Callback },
  ctx: Context,
  { proof, link }: { proof: Proof; link: FlowLink },
): Promise<Person> {
  const { issuers, accounts, audit } = context;
  const { signal } = stateOf(ctx);
  const { flow, tokens } = proof;
  const { claims } = tokens;
  try {
    requireNewLogin(flow, claims);
    const identity = await callback.identityOf(proof, signal);
    const session = await sessionOfLink(context, ctx, link);
    await callback.useState(flow, signal);
    await requireNoRecord(context, proof, identity, link, signal);
    const { metadata } = await endAccess({ name: link.user, uid: link.userUID }, (object) => {
      const account = accountOf(object);
      requireLinkable(account, session.row.subjectName);
      requireNormal(context, account);
      const old = readUser(object).status?.subjects ?? [];
      if (old.length >= maxSubjects || old.some(({ issuer }) => issuer === claims.iss)) throw alreadyLinked(account);
      return { subjects: [...old, entryOf(context, proof, identity)] };
    });
    await accounts.waitFor(metadata.resourceVersion, seenWithinMs, signal);
    const target = { name: link.user, uid: link.userUID };
    await notices.add(target, 'AccountLinked');
    const kept = await keepSession(ctx, { session: session.row.name }, signal);
    if (kept === undefined) throw serviceUnavailable('kubernetes', { cause: new Error('the session could not be kept') });
    const person = await personOf(context, kept, signal);
    const actor = { name: person.identity.name, uid: person.identity.uid };
    audit.record({ ...auditOrigin(ctx), audit: 'SubjectLinked', actor, target, outcome: 'success', code: 200 });
    return { ...person, account: accounts.get(link.user), returnTo: flow.returnTo };
  } finally {
    // The login there was a proof, and nothing else.
    await issuers.discard(claims, tokens.refreshToken);
  }
}

function entryOf({ now }: SessionContext, { tokens: { claims }, issuer }: Proof, identity: Identity): object {
  return {
    issuer: claims.iss,
    sub: claims.sub,
    subjectName: identity.name,
    groups: recordedGroups(plainGroupsOf(claims, issuer.settings)),
    linkedTime: timestamp(now()),
  };
}

/**
 * An account that is a user already stays that one: by its subject, by its name in Kubernetes, or by the login string that it would have a
 * record by. The last is read, since it may have been made a moment ago.
 */
async function requireNoRecord(
  { accounts, client }: SessionContext,
  { tokens: { claims }, issuer: { settings } }: Proof,
  identity: Identity,
  { user }: FlowLink,
  signal: AbortSignal,
): Promise<void> {
  requireAccounts(accounts);
  const known = [accounts.ofIssuerSubject({ issuer: claims.iss, sub: claims.sub }), accounts.ofSubject(identity.name)];
  if (known.some((account) => account !== undefined && account.name !== user)) throw otherSubject();
  const login = loginOf(claims, settings);
  const name = accounts.find(login)?.name ?? recordName(login);
  if (name === undefined || name === user) return;
  if ((await new UserRecords(client).readInstalled(name, signal)) !== undefined) throw otherSubject();
}

function requireNormal({ config, now }: SessionContext, account: Account): void {
  const phase = phaseOf(account, now(), config.users.idleDays);
  if (phase.phase !== 'Normal') throw phaseRefused(phase, now());
}

const alreadyLinked = ({ name }: Account): StatusError =>
  conflict(userResource, name, 'there is an account of this issuer already, or there are too many');

async function personOf({ issuers, identify }: SessionContext, session: Session, signal: AbortSignal): Promise<Person> {
  const { tokens } = session.secrets;
  const { settings } = issuers.of(tokens.claims);
  const identity = settings.isForwarded
    ? (await identify({ token: tokens.bearer, hash: hash('sha256', tokens.bearer) }, signal)).identity
    : identityOf(tokens.claims, settings);
  const token = sessionPayload(session.secrets);
  return { identity, claims: tokens.claims, tokenStorage: 'cookie', expiresAt: tokens.bearerExpiresAt, token };
}
