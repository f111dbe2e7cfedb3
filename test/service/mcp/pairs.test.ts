/** Kinds of credentials at doors that they do not open (docs/threat-model.md). */
import { expect } from 'chai';
import { request } from 'undici';
import { z } from 'zod';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { AgentClient } from './agent.ts';

const password = 'correct horse battery';
const ada = 'ada@example.com';
const redirectURI = 'https://agent.example.com/callback';
const loginTokens = z.object({ access_token: z.string(), id_token: z.string(), refresh_token: z.string() });
const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });

describe('a token of one kind at the door of another', () => {
  const login = forSuite(() =>
    startEmbeddedLogin({
      emails: [ada],
      password,
      credentials: 'impersonate',
      features: { mcp: true, accessTokens: true },
      identity: { clients: [{ id: 'helper', name: 'Helper', redirectURLs: [redirectURI] }] },
    }),
  );
  const given: Record<string, Record<string, string>> = {};
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  before(async () => {
    const agent = await new AgentClient(login, { clientID: 'helper', redirectURI }).tokens(ada, password);
    const kubectl = new AgentClient(login, { clientID: 'kubectl', redirectURI: 'http://127.0.0.1:8000/callback' });
    const { page } = await kubectl.ask(ada, password, { differing: { resource: '', scope: 'openid email groups' } });
    const tokens = loginTokens.parse((await kubectl.redeem(page, { resource: '' })).body);
    const { browser } = await login.logIn(ada, password);
    const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const created = await login.request('/auth/v1/accesstoken', {
      method: 'POST',
      headers: { ...bearer(tokens.id_token), 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'ci' }),
    });
    const { token } = z.object({ token: z.string() }).parse(await created.json());
    Object.assign(given, {
      'the session of a browser': { cookie },
      'an ID token': bearer(tokens.id_token),
      'an access token of a login': bearer(tokens.access_token),
      'a refresh token of a login': bearer(tokens.refresh_token),
      'an access token of a user': bearer(token),
      'a token of the API server': bearer(await login.cluster.token('admin')),
      'an access token of an agent': bearer(agent.access_token),
      'a refresh token of an agent': bearer(agent.refresh_token),
    });
  });

  const strangers = [
    'the session of a browser',
    'an ID token',
    'an access token of a login',
    'a refresh token of a login',
    'an access token of a user',
    'a token of the API server',
    'a refresh token of an agent',
  ];
  for (const kind of strangers)
    it(`refuses ${kind} at /mcp`, async () => {
      const { status, headers } = await login.request('/mcp', {
        method: 'POST',
        headers: { ...given[kind], 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: message,
      });
      expect(status).to.equal(401);
      expect(headers.get('www-authenticate')).to.match(/^Bearer resource_metadata=/);
    });

  const doors: Record<string, number> = {
    // RFC 6750 section 3.1: insufficient_scope.
    '/identity/me': 403,
    '/api/v1/token/info': 401,
    '/auth/v1/me': 401,
    '/auth/v1/sessions': 401,
    '/api/kubernetes/api/v1/namespaces': 401,
  };
  for (const [path, wanted] of Object.entries(doors))
    it(`refuses an access token of an agent at ${path}`, async () => {
      const { status } = await login.request(path, { headers: given['an access token of an agent'] ?? {} });
      expect(status).to.equal(wanted);
    });

  it('refuses an access token of an agent at the API server', async () => {
    const headers = given['an access token of an agent'] ?? {};
    const { status } = await fetchCluster(`${login.cluster.url}/api/v1/namespaces`, headers);
    expect(status).to.equal(401);
  });

  it('refuses views of other users at /mcp', async () => {
    const { status } = await login.request('/mcp', {
      method: 'POST',
      headers: { ...given['an access token of an agent'], 'impersonate-user': 'bob@example.com', 'content-type': 'application/json' },
      body: message,
    });
    expect(status).to.equal(400);
  });

  const fetchCluster = async (url: string, headers: Record<string, string>) => {
    const { statusCode, body } = await request(url, { headers, dispatcher: login.dispatcher });
    await body.dump();
    return { status: statusCode };
  };
});
