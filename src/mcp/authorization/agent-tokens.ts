import { hash } from 'node:crypto';
import { readBearer } from '@atrium/http/authenticator.ts';
import type { Agent, Bearer } from '@atrium/http/caller.ts';
import { StatusError, unauthorized } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { VerifiedLogin } from '../../issuer/verified-login.ts';
import type { SessionContext } from '../../sessions/context.ts';
import { agentScope } from './agent-scope.ts';

/** Person and agent of an access token for the MCP door. */
interface VerifiedAgent {
  readonly login: VerifiedLogin;
  readonly agent: Agent;
}

type AgentContext = Pick<SessionContext, 'issuers' | 'accountState'>;

/**
 * Verifies access tokens of agents. Such a token is for the MCP door alone (RFC 8707): no other door accepts it, and this door accepts no
 * other credential. Calls impersonate the person, and the API server never receives the token.
 */
export class AgentTokens {
  readonly #context: AgentContext;
  readonly #resource: string;
  readonly #metadataURL: string;

  /**
   * @param resource identifier of the door
   * @param metadataURL address of its metadata (RFC 9728)
   */
  constructor(context: AgentContext, { resource, metadataURL }: { resource: string; metadataURL: string }) {
    this.#context = context;
    this.#resource = resource;
    this.#metadataURL = metadataURL;
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
    const { login, agent } = await this.#ofExternalIssuer(bearer);
    await accountState.whenReady(state);
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

  /** The embedded issuer gives no JWT to agents, so its ID tokens are never compared with the resource. */
  async #ofExternalIssuer(bearer: Bearer): Promise<VerifiedAgent> {
    for (const issuer of this.#context.issuers.all()) {
      if (issuer.settings.isEmbedded) continue;
      const verified = await issuer.verifier.accessTokenFor(this.#resource, bearer);
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
    const parameters = [`resource_metadata="${this.#metadataURL}"`, ...(isGiven ? ['error="invalid_token"'] : [])];
    return new StatusError(401, 'Unauthorized', message, {
      ...(details && { details }),
      headers: { 'WWW-Authenticate': `Bearer ${parameters.join(', ')}` },
      cause,
    });
  }
}

/** Returns the host of a client id that is a URL. */
const hostOf = (client: string): string => (/^https:/i.test(client) ? (URL.parse(client)?.host ?? '') : '');
