/** The official client of MCP from a 401 to a list of tools: discovery, client metadata, PKCE, consent and renewal. */
import { expect } from 'chai';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Browser } from '../identity/browser.ts';
import { OfficialAgent, onThisMachine } from './official-agent.ts';

const password = 'correct horse battery';
const ada = 'ada@example.com';

describe('the official client', () => {
  const login = forSuite(() =>
    startEmbeddedLogin({ emails: [ada], password, credentials: 'impersonate', features: { mcp: true }, pluginContext: onThisMachine }),
  );
  const agent = forSuite(() => OfficialAgent.start(login));

  it('gets from a 401 to a list of tools, and renews its tokens', async () => {
    const { credentials } = agent;
    const asked = await agent.ask();
    expect(asked.searchParams.get('resource')).to.equal(`${login.url}/mcp`);
    expect(asked.searchParams.get('client_id')).to.equal(credentials.clientMetadataUrl);

    const browser = new Browser(login.url, [login.url], { dispatcher: login.dispatcher });
    const page = await browser.submit(await browser.get(asked), { email: ada, password });
    expect(page.body).to.include('Official (agent.example.com');
    const { url } = await browser.submit(page, {});
    await agent.finish(url.searchParams);

    const client = await agent.connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).to.include('list');
    await client.close();

    const before = credentials.saved;
    credentials.saved = { ...(before ?? { access_token: '', token_type: 'Bearer' }), access_token: 'not-a-token' };
    const renewed = await agent.connect();
    expect((await renewed.listTools()).tools.length).to.equal(tools.length);
    expect(credentials.saved?.refresh_token).to.be.a('string').and.not.equal(before?.refresh_token);
    await renewed.close();
  });
});
