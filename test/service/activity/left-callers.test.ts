import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { startRecordings } from '../recordings/support.ts';

describe('the event of a request whose caller leaves', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() => startRecordings(between, {}));

  it('says that the outcome is unknown once the request was passed on', async () => {
    const left = new AbortController();
    const headers = { Authorization: `Bearer ${await server.token('alice')}` };
    // The API server deletes the object, and its answer reaches nobody.
    between.handle = () => left.abort();
    const path = '/api/kubernetes/apis/between/v1/namespaces/shop/things/one';
    await fetch(`${server.url}${path}`, { method: 'DELETE', headers, signal: left.signal }).catch(() => undefined);
    const event = await eventually(
      async () => {
        const answer = await server.request('/auth/v1/audit?name=one', { as: 'alice' });
        return auditEventList.parse(await answer.json()).items[0];
      },
      (found) => found !== undefined,
    );
    expect([event?.verb, event?.outcome, event?.responseStatus?.code]).to.deep.equal(['delete', 'unknown', 499]);
    expect(between.received.map(({ method }) => method)).to.deep.equal(['DELETE']);
  });
});
