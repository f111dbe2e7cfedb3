/** Access tokens of an external issuer at the MCP door (docs/contract/agents.md). */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { Browser, type Reply } from '../login/provider/browser.ts';
import type { TokenChange } from '../login/provider/tokens.ts';
import { publicURL } from '../login/support.ts';
import { relyingParty } from '../relying-party/conformance/relying-party.ts';
import { session, tokens } from '../sessions/support.ts';
import { nameOf } from '../users/a-user.ts';

const resource = `${publicURL}/mcp`;
const metadataPath = '/.well-known/oauth-protected-resource/mcp';
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const call = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const agentToken: TokenChange = {
  header: { typ: 'at+jwt' },
  claims: { aud: resource, client_id: 'agent-1', jti: 'token-1', nonce: undefined },
};

describe('the MCP door', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 }, features: { mcp: true, accessTokens: true } } });
  const token = (...changes: TokenChange[]) => party().provider.idToken(agentToken, ...changes);
  const post = (bearer: string | undefined, headers: Record<string, string> = {}) =>
    new Browser(party().service.url).request('/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...headers,
      },
      body: JSON.stringify(call),
    });
  /** Reports whether the authorization of the door refuses a request. */
  const isRefused = ({ status, headers }: Reply) =>
    status === 401 && headers.get('www-authenticate')?.startsWith(`Bearer resource_metadata="${publicURL}${metadataPath}"`) === true;
  const info = (bearer: string) =>
    new Browser(party().service.url).request('/api/v1/token/info', { headers: { authorization: `Bearer ${bearer}` } });

  it('describes its authorization, as RFC 9728 says', async () => {
    const { provider, service } = party();
    for (const path of [metadataPath, '/.well-known/oauth-protected-resource']) {
      const { status, body } = await new Browser(service.url).request(path);
      expect({ status, body }).to.deep.equal({
        status: 200,
        body: {
          resource,
          resource_name: 'Atrium',
          authorization_servers: [provider.issuer],
          bearer_methods_supported: ['header'],
        },
      });
    }
  });

  it('tells a caller without a token where the metadata is', async () => {
    const { status, headers, body } = await post(undefined);
    expect(status).to.equal(401);
    expect(headers.get('www-authenticate')).to.equal(`Bearer resource_metadata="${publicURL}${metadataPath}"`);
    expect(body).to.deep.include({ kind: 'Status', code: 401, reason: 'Unauthorized' });
  });

  it('accepts an access token for the resource, and no other door does', async () => {
    const issued = token();
    expect(isRefused(await post(issued))).to.equal(false);
    expect((await info(issued)).status).to.equal(401);
  });

  const refused: Record<string, TokenChange> = {
    'an ID token': { header: { typ: 'JWT' }, claims: { client_id: undefined } },
    'a token for the console': { claims: { aud: 'atrium' } },
    'a token for the resource and the console': { claims: { aud: [resource, 'atrium'] } },
    'a token for the resource with a slash at the end': { claims: { aud: `${resource}/` } },
    'a token for the resource in other case': { claims: { aud: `${publicURL}/MCP` } },
    'a token for the resource with a query': { claims: { aud: `${resource}?tenant=1` } },
    'a token for the resource with a fragment': { claims: { aud: `${resource}#door` } },
    'a token of no client': { claims: { client_id: undefined, scope: 'mcp:read' } },
    'a token that is bound to a key': { claims: { cnf: { jkt: '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I' } } },
    'an expired token': { claims: { exp: Math.floor(Date.now() / 1000) - 3600 } },
    'a token signed by the client': { signer: 'public key' },
    'an unsigned token': { signer: 'nobody' },
    'a logout token': { header: { typ: 'logout+jwt' } },
  };
  for (const [what, change] of Object.entries(refused))
    it(`refuses ${what}`, async () => {
      const { status, headers } = await post(token(change));
      expect(status).to.equal(401);
      expect(headers.get('www-authenticate')).to.equal(`Bearer resource_metadata="${publicURL}${metadataPath}", error="invalid_token"`);
    });

  it('accepts no other credential', async () => {
    const { service } = party();
    const { bearer } = await tokens(service);
    const { browser } = await session(service);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const reply = await new Browser(service.url).request('/auth/v1/accesstoken', {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'ci' }),
    });
    expect(reply.status, reply.text).to.equal(201);
    const { token: accessToken } = reply.body as { token: string };
    for (const reply of [await post(bearer), await post(accessToken), await post(undefined, { cookie })])
      expect(isRefused(reply), reply.text).to.equal(true);
  });

  it('refuses the token of a person whose record is disabled', async () => {
    const { service, provider, cluster } = party();
    const email = 'agent-owner@example.com';
    provider.person = { sub: 'agent-owner', email, email_verified: true, groups: ['dev'] };
    await session(service);
    const issued = token();
    expect(isRefused(await post(issued))).to.equal(false);
    await cluster.kubernetes.call('PATCH', `/apis/auth.platform.io/v1/users/${nameOf(email)}`, { spec: { is_disabled: true } }, mergePatch);
    await eventually(() => post(issued), isRefused);
  });
});
