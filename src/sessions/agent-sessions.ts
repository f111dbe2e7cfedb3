import { hash } from 'node:crypto';
import type { Agent } from '@atrium/http/caller.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import type { Context } from 'koa';
import { auditOrigin } from '../audit/audit.ts';
import { VerifiedLogin } from '../issuer/verified-login.ts';
import type { SessionContext } from './context.ts';
import { newLogin } from './login-facts.ts';
import { endOldest } from './max-sessions.ts';
import { type SessionRow, sessionObject } from './record.ts';

/** Agent that a person has authorized at the embedded issuer. */
interface NewAgentSession {
  /** SHA-256 of the id of the grant. */
  readonly grant: string;
  /** Claims of the person. */
  readonly claims: VerifiedClaims;
  readonly agent: Omit<Agent, 'session'>;
  readonly lifetimeMs: number;
}

/**
 * Sessions of agents: Session objects that no cookie opens. Each one stands for a grant of the embedded issuer, whose tokens are valid as
 * long as the session exists. People see and end them among their other sessions.
 */
export class AgentSessions {
  readonly #context: SessionContext;

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** @throws StatusError 401, 503, 504 */
  async begin(ctx: Context, { grant, claims, agent, lifetimeMs }: NewAgentSession, signal: AbortSignal): Promise<void> {
    const { audit, issuers, accountState, store, keyRing, now } = this.#context;
    const login = new VerifiedLogin(issuers.of(claims), claims);
    const account = accountState.find(login);
    const name = nameOf(grant);
    const user = { user: account?.name ?? '', userUID: account?.uid, subjectName: login.identity.name };
    const facts = newLogin(login, user, { now: now(), absoluteMs: lifetimeMs });
    const sealed = keyRing.sealFor('session').seal(JSON.stringify({ grant }));
    const origin = auditOrigin(ctx);
    const object = sessionObject(facts, { name, source: origin.source, userAgent: undefined, sealed, idleMs: lifetimeMs, agent });
    const row = await store.create(object, signal);
    const about = { actor: { name: login.identity.name, uid: login.identity.uid }, target: { name: user.user, uid: account?.uid ?? '' } };
    const { direct: _direct, ...allowed } = agent;
    audit.record({ ...origin, ...about, audit: 'AgentAllowed', outcome: 'success', agent: { ...allowed, objects: [] } });
    await endOldest(this.#context, ctx, row, signal);
  }

  /** Returns the session of a grant if it has not ended. @throws StatusError 503, 504 */
  async find(grant: string, source: string, signal: AbortSignal): Promise<SessionRow | undefined> {
    const { store, now, clock } = this.#context;
    const row = await store.find(nameOf(grant), source, signal);
    return row !== undefined && now().getTime() < row.expiresAt && clock() < row.endsAt ? row : undefined;
  }

  /** Ends the session of a grant, if this replica knows it. @throws StatusError 503, 504 */
  async end(grant: string, signal: AbortSignal): Promise<void> {
    const { store } = this.#context;
    const row = store.get(nameOf(grant));
    if (row !== undefined) await store.remove(row, signal);
  }
}

/** Returns the name of the Session. A secret of a cookie has no blank, so that no cookie names it. */
const nameOf = (grant: string): string => `s-${hash('sha256', `agent ${grant}`)}`;
