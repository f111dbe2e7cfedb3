import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { ApiServerBetween } from './api-server-between.ts';
import { things } from './support.ts';

const browser = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0 Safari/537.36';
const namespaces = '/api/kubernetes/api/v1/namespaces';

describe('JSON of the Kubernetes API for browsers', () => {
  const server = forSuite(() => startServer());

  it('is without white space, unless the page asks for it', async () => {
    await grant(server.kubernetes, 'manager', 'cluster-admin');
    const get = async (query: string) => {
      const answer = await server.request(`${namespaces}/default${query}`, { as: 'manager', headers: { 'User-Agent': browser } });
      expect(answer.status, query).to.equal(200);
      return answer.text();
    };
    for (const query of ['', '?', '?resourceVersion=0', '?pretty=false']) {
      const text = await get(query);
      expect(text.trimEnd(), query).to.equal(JSON.stringify(JSON.parse(text)));
    }
  });
});

describe('the query to the API server', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() => startServer({ between: between.start }));

  it('gets `pretty=false` of a browser for lists, objects and discovery, and nothing of other clients', async () => {
    const sent = async (query: string, userAgent: string, path = things) => {
      await server.request(`${path}${query}`, { as: 'alice', headers: { 'User-Agent': userAgent } });
      return between.last.url?.replace(/^[^?]*/, '');
    };
    expect(await sent('', browser)).to.equal('?pretty=false');
    expect(await sent('?', browser)).to.equal('?pretty=false');
    expect(await sent('?limit=1&labelSelector=a%3Db', browser)).to.equal('?limit=1&labelSelector=a%3Db&pretty=false');
    expect(await sent('', browser, things.replace('/things', ''))).to.equal('?pretty=false');
    for (const query of ['?pretty=true', '?pretty=', '?pretty', '?%70retty=1']) expect(await sent(query, browser), query).to.equal(query);
    for (const agent of ['kubectl/v1.36.0', 'curl/8', 'x Mozilla/5.0']) expect(await sent('?limit=1', agent), agent).to.equal('?limit=1');
    expect(await sent('?a=1', browser, `${things}/x/connect`)).to.equal('?a=1');
  });
});
