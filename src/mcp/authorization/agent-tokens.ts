import { hash } from 'node:crypto';
import { readBearer } from '@atrium/http/authenticator.ts';
import type { Agent, Bearer } from '@atrium/http/caller.ts';
import { StatusError, unauthorized } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { VerifiedLogin } from '../../issuer/verified-login.ts';
import { sessionEnded } from '../../sessions/account-state.ts';
import type { AgentSessions } from '../../sessions/agent-sessions.ts';
import type { SessionContext } from '../../sessions/context.ts';
import { agentScope } from './agent-scope.ts';

/** Person and agent of an access token for the MCP door. */
interface VerifiedAgent {
  readonly login: VerifiedLogin;
  readonly agent: Agent;
}

/**
 * Opens an access token of the embedded issuer.
 *
 * @returns the claims of the person, the client id, and the SHA-256 of the id of the grant; undefined for any other text
 * @throws StatusError 503
 */
export type OpenAgentToken = (token: string) => Promise<{ claims: VerifiedLogin['claims']; client: string; grant: string } | undefined>;

type AgentContext = Pick<SessionContext, 'issuers' | 'accountState'>;

interface AgentNeeds {
  /** Identifier of the door. */
  resource: string;
  /** Address of its metadata (RFC 9728). */
  metadataURL: string;
  sessions: AgentSessions;
  /** Undefined without the embedded issuer. */
  open: OpenAgentToken | undefined;
}

/**
 * Verifies access tokens of agents. Such a token is for the MCP door alone (RFC 8707): no other door accepts it, and this door accepts no
 * other credential. Calls impersonate the person, and the API server never receives the token.
 */
export class AgentTokens {
  readonly #context: AgentContext;
  readonly #needs: AgentNeeds;

  constructor(context: AgentContext, needs: AgentNeeds) {
    this.#context = context;
    this.#needs = needs;
  }

  /** Returns the credential of a request to the door. @throws StatusError 401, 503 */
  async read(ctx: Context): Promise<Bearer> {
    const isGiven = ctx.req.headers.authorization !== undefined;
    try {
      const bearer = readBearer(ctx.req);
      if (bearer === undefined) throw unauthorized({ tokenGiven: false });
      return await this.#verify(bearer, ctx);
    } catch (error) {
      throw error instanceof StatusError && error.status.code === 401 ? this.#challenge(error, isGiven) : error;
    }
  }

  async #verify(bearer: Bearer, { state }: Context): Promise<Bearer> {
    const { accountState } = this.#context;
    await accountState.whenReady(state);
    const { login, agent } = (await this.#ofEmbeddedIssuer(bearer, state)) ?? (await this.#ofExternalIssuer(bearer));
    const account = await accountState.ownerOf(bearer.token, login, state);
    const { identity, subject } = login;
    // Decisions are cached by the hash, and the groups of the person may change.
    const fingerprint = JSON.stringify([agent.client, identity.name, identity.uid, identity.groups]);
    return {
      token: bearer.token,
      hash: hash('sha256', `agent ${bearer.hash} ${fingerprint}`),
      isVerified: true,
      actAs: identity,
      agent,
      scope: agentScope,
      ...(subject && { subject }),
      ...(account && { user: account.name, mustChangePassword: account.mustChangePassword }),
    };
  }

  /** Tokens of the embedded issuer are valid as long as the session that the person has permitted. */
  async #ofEmbeddedIssuer({ token }: Bearer, { source, signal }: Context['state']): Promise<VerifiedAgent | undefined> {
    const { open, sessions } = this.#needs;
    const opened = await open?.(token);
    if (opened === undefined) return undefined;
    const row = await sessions.find(opened.grant, source, signal);
    if (row?.agent === undefined || row.agent.client !== opened.client) throw sessionEnded();
    const refusal = this.#context.accountState.refusalOfRow(row);
    if (refusal !== undefined) throw refusal;
    const login = new VerifiedLogin(this.#context.issuers.of(opened.claims), opened.claims);
    return { login, agent: { ...row.agent, session: row.name } };
  }

  /** The embedded issuer gives no JWT to agents, so its ID tokens are never compared with the resource. */
  async #ofExternalIssuer(bearer: Bearer): Promise<VerifiedAgent> {
    for (const issuer of this.#context.issuers.all()) {
      if (issuer.settings.isEmbedded) continue;
      const verified = await issuer.verifier.accessTokenFor(this.#needs.resource, bearer);
      if (verified === 'not ours') continue;
      const { claims, login, client, id } = verified;
      return {
        login: new VerifiedLogin(issuer, claims, login),
        agent: { client, name: client, host: hostOf(client), session: id },
      };
    }
    throw unauthorized({ tokenGiven: true });
  }

  #challenge({ message, status: { details }, cause }: StatusError, isGiven: boolean): StatusError {
    const parameters = [`resource_metadata="${this.#needs.metadataURL}"`, ...(isGiven ? ['error="invalid_token"'] : [])];
    return new StatusError(401, 'Unauthorized', message, {
      ...(details && { details }),
      headers: { 'WWW-Authenticate': `Bearer ${parameters.join(', ')}` },
      cause,
    });
  }
}

/** Returns the host of a client id that is a URL. */
const hostOf = (client: string): string => (/^https:/i.test(client) ? (URL.parse(client)?.host ?? '') : '');
