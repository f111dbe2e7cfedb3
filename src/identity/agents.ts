/** Agents at the embedded issuer: programs that get access tokens for the MCP door (RFC 8707), which a person has permitted. */
import type { Seal } from '@atrium/http/seal.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Client, Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { z } from 'zod';
import { agentScopeName } from '../config/mcp-resource.ts';
import { unavailable } from './adapter.ts';
import type { GrantSessions } from './grant-sessions.ts';
import { errors } from './oidc-provider.ts';
import { hashed } from './records.ts';
import { requestScope } from './request-scope.ts';

type Features = NonNullable<Configuration['features']>;
type Oidc = KoaContextWithOIDC['oidc'];

export interface AgentParts {
  /** Identifier of the MCP door. */
  resource: string;
  /** Ids of the configured clients, which may be agents. The console and kubectl never are. */
  clients: ReadonlySet<string>;
  sessions: GrantSessions;
  /** Lifetime of a session of an agent. */
  lifetimeSeconds: number;
  documents: NonNullable<Features['clientIdMetadataDocument']>;
  /** Digest of the changes without a confirmation that the page asks for; undefined without any. */
  direct: string | undefined;
}

/** Returns the resource that a pending authorization is for; undefined for a login. */
export const requestedResource = ({ resourceServers = {} }: Oidc): string | undefined => Object.keys(resourceServers)[0];

/** Reports whether the person has permitted the agent in this authorization. Earlier consent does not count. */
export const isPermitted = ({ result }: Oidc, resource: string): boolean =>
  isRecord(result?.consent) && result.consent.resource === resource;

/** Reports whether the client is known by the metadata document at its id alone. */
const isDescribedByURL = (client: Client): boolean => Reflect.get(client, 'clientIdMetadataDocument') === true;

/** Accepts one resource, the MCP door. A client that is known by its document alone gets no other tokens. */
export const resourceIndicators = ({ resource, clients }: AgentParts): NonNullable<Features['resourceIndicators']> => ({
  enabled: true,
  defaultResource: async (_ctx, client, granted) => granted ?? (isDescribedByURL(client) ? resource : []),
  // A code or refresh token for the door gives no token for userinfo.
  useGrantedResource: async () => true,
  async getResourceServerInfo({ oidc }, requested, client) {
    const isAgent = isDescribedByURL(client) || clients.has(client.clientId);
    const isOnly = oidc.params?.resource === undefined || oidc.params.resource === requested;
    if (requested !== resource || !isAgent || !isOnly || !client.grantTypeAllowed('authorization_code'))
      throw new errors.InvalidTarget('the resource is unknown, or not for this client');
    // RFC 6749 section 3.3: other scopes are ignored. An agent gets no ID token.
    if (oidc.route === 'authorization' && oidc.params) oidc.params.scope = agentScopeName;
    return { scope: agentScopeName, audience: resource };
  },
});

/**
 * Creates the grant of an agent and its session, once the person has permitted the agent. Each authorization has a grant of its own, so
 * that programs with the same client id end separately.
 *
 * @throws TemporarilyUnavailable
 */
export async function agentGrant({ oidc }: KoaContextWithOIDC, { sessions, lifetimeSeconds, direct }: AgentParts, resource: string) {
  const { client, account, provider } = oidc;
  if (client === undefined || account === undefined || !isPermitted(oidc, resource)) return undefined;
  const grant = new provider.Grant({ accountId: account.accountId, clientId: client.clientId });
  grant.addResourceScope(resource, agentScopeName);
  await grant.save();
  const { ctx, signal, now } = requestScope();
  const iat = Math.floor(now().getTime() / 1000);
  const claims = { ...(await account.claims('userinfo', '', {}, [])), iss: provider.issuer, iat, exp: iat + lifetimeSeconds };
  const agent = {
    client: client.clientId,
    name: client.clientName ?? client.clientId,
    host: hostOf(client),
    ...(direct !== undefined && { direct }),
  };
  try {
    await sessions.begin(ctx, { grant: hashed(grant.jti), claims, agent, lifetimeMs: lifetimeSeconds * 1000 }, signal);
  } catch (error) {
    throw error instanceof StatusError && error.status.code >= 429 ? unavailable(error) : error;
  }
  return grant;
}

/** Returns the host that describes the client; '' for a configured client. */
export const hostOf = (client: Client): string => (isDescribedByURL(client) ? new URL(client.clientId).host : '');

/** Content of an access token, which is sealed and not stored. */
const tokenPayload = z.object({
  kind: z.literal('AccessToken'),
  aud: z.string(),
  clientId: z.string(),
  accountId: z.string(),
  grantId: z.string(),
  iat: z.number(),
  exp: z.number(),
});

/** Access token for the MCP door. */
export interface AgentToken {
  readonly client: string;
  readonly accountId: string;
  /** SHA-256 of the id of the grant. */
  readonly grant: string;
  readonly iat: number;
  readonly exp: number;
}

/** Opens an access token for the resource; undefined for any other text. @throws StatusError 503 while there is no key */
export async function openAgentToken(seal: Seal, resource: string, token: string, now: Date): Promise<AgentToken | undefined> {
  const text = await seal.open(token);
  const payload = text === undefined ? undefined : tokenPayload.safeParse(JSON.parse(text)).data;
  if (payload?.aud !== resource || now.getTime() / 1000 >= payload.exp) return undefined;
  const { clientId: client, accountId, grantId, iat, exp } = payload;
  return { client, accountId, grant: hashed(grantId), iat, exp };
}
