import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';

const base = '/api/kubernetes';
const maps = `${base}/api/v1/namespaces/default/configmaps`;

describe('the Kubernetes API through the service', () => {
  const server = forSuite(() => startServer());

  before(async () => {
    await server.kubernetes.apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'flags', namespace: 'default' },
      data: { a: '1' },
    });
    await grant(server.kubernetes, 'viewer', 'view');
    await grant(server.kubernetes, 'manager', 'edit');
  });

  it('lists with the rights of the caller, in the words of the API server', async () => {
    const list = await server.request(`${maps}?limit=1`, { as: 'viewer' });
    expect(list.status).to.equal(200);
    expect(list.headers.get('content-type')).to.equal('application/json');
    expect(await list.json()).to.deep.include({ kind: 'ConfigMapList' });

    const refused = await server.request(maps, { as: 'nobody' });
    expect(refused.status).to.equal(403);
    expect(((await refused.json()) as { message: string }).message).to.match(/^configmaps is forbidden: User "nobody" cannot list/);
    expect((await server.request(maps)).status).to.equal(401);
  });

  it('watches, and ends the watch when the caller goes', async () => {
    const gone = new AbortController();
    const watch = await server.request(`${maps}?watch=true&fieldSelector=metadata.name%3Dflags`, { as: 'viewer', signal: gone.signal });
    expect(watch.status).to.equal(200);
    const reader = watch.body?.pipeThrough(new TextDecoderStream()).getReader();
    let first = '';
    // A line may arrive in pieces.
    while (!first.includes('\n')) first += (await reader?.read())?.value ?? '\n';
    expect(JSON.parse(first.split('\n')[0] ?? '')).to.deep.include({ type: 'ADDED' });
    gone.abort();
  });
});
