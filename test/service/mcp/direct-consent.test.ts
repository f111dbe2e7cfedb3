/** Changes without a confirmation, from the page of the consent to the cluster. */
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';
import { AgentClient, tokensOf } from './agent.ts';

const password = 'correct horse battery';
const ada = 'ada@example.com';
const redirectURI = 'https://agent.example.com/callback';
const settings = { resource: 'configmaps', namespace: 'shop-trial', name: 'settings' };

describe('an agent whose installation permits changes without a confirmation', () => {
  const login = forSuite(async () => {
    const auditStore = await SqliteStore.open(':memory:');
    const started = await startEmbeddedLogin({
      auditStore,
      emails: [ada],
      password,
      credentials: 'impersonate',
      features: { mcp: true },
      mcp: { writes: 'direct', direct: [{ namespaces: ['shop-trial'], verbs: ['create'], resources: ['configmaps'] }] },
      identity: { clients: [{ id: 'helper', name: 'Helper', redirectURLs: [redirectURI] }] },
    });
    const stop = async () => {
      await started.stop();
      await auditStore.stop();
    };
    return { ...started, auditStore, stop };
  });

  it('makes those that the page has named, and proposes others', async () => {
    await login.admin.apply(
      aNamespace('shop-trial'),
      aRole('writer', [{ verbs: ['*'], apiGroups: [''], resources: ['configmaps'] }], 'shop-trial'),
      aBinding('writer', { role: 'writer', roleKind: 'Role', to: `User:${ada}`, namespace: 'shop-trial' }),
    );
    const agent = new AgentClient(login, { clientID: 'helper', redirectURI });
    const { browser, page } = await agent.ask(ada, password);
    expect(page.body).to.include('create configmaps (shop-trial)');
    const { access_token: token } = tokensOf(await agent.redeem(await browser.submit(page, {})));
    const sessions = await login.admin.call('GET', `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/sessions`);
    expect(JSON.stringify(sessions.body)).to.match(/"direct":"[0-9a-f]{64}"/);

    const change = async (input: object) => {
      const params = { name: 'propose_change', arguments: { reason: 'It is needed.', ...input } };
      const answer = await login.request('/mcp', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      });
      return answer.text();
    };
    const made = await change({ ...settings, verb: 'create', object: { data: { colour: 'red' } } });
    expect(made).to.include('The change is made');
    const stored = await login.admin.call('GET', '/api/v1/namespaces/shop-trial/configmaps/settings');
    expect(stored.body).to.deep.include({ data: { colour: 'red' } });
    const proposed = await change({ ...settings, verb: 'delete' });
    expect(proposed).to.include('nothing has changed yet');
    expect((await login.admin.call('GET', '/api/v1/namespaces/shop-trial/configmaps/settings')).status).to.equal(200);
  });

  it('is named in the event of its permission, and in those of its changes', async () => {
    const named = await eventually(
      async () => (await login.auditStore.list({ actor: ada }, { limit: 50 })).events.filter(({ agent }) => agent?.name === 'Helper'),
      (events) => events.length >= 4,
    );
    const events = new Map(named.map(({ event, ...rest }) => [event, rest]));
    expect([...events.keys()]).to.have.members(['AgentAllowed', 'AgentCalledTool', 'AgentChangedObject']);
    expect(events.get('AgentAllowed')).to.deep.include({
      verb: 'create',
      outcome: 'success',
      agent: { client: 'helper', name: 'Helper', host: '', objects: [] },
    });
    expect(events.get('AgentChangedObject')).to.have.nested.property('objectRef.name', 'settings');
  });
});
