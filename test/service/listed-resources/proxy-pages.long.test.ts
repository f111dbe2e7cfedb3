import { expect } from 'chai';
import { afterEach, describe, it } from 'mocha';
import { z } from 'zod';
import { type Fault, FaultProxy, page } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { objects, resources } from './support.ts';

const searchResult = z.object({
  kinds: z.array(z.object({ resource: z.string() })),
  unsearched: z.array(z.object({ resource: z.string(), reason: z.string() })),
});

const unknownPath: Fault = ({ response }) =>
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');

describe('lists whose kinds a proxy answers', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  for (const [what, fault] of [
    ['the plain text for an unknown path', unknownPath],
    ['a page of 404', page(404)],
  ] as const)
    it(`are unavailable after ${what}, and found after it`, async () => {
      const proxies: FaultProxy[] = [];
      server = await startServer({
        config: { lists: { resources } },
        objects,
        async between({ url, certificateAuthority, serving }) {
          const faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
          faults.inject(fault, ({ path }) => /\/(?:configmaps|widgets)$/.test(path));
          proxies.push(faults);
          return faults;
        },
      });
      const [faults] = proxies;
      const search = async () => {
        const response = await server.request('/api/v2/search?q=w0&kinds=configmaps&kinds=widgets.example.com&kinds=gadgets.example.com', {
          as: 'bob',
        });
        return { status: response.status, ...searchResult.partial().parse(await response.json()) };
      };
      const asked = () => faults?.requests.filter(({ path, query }) => path.endsWith('/widgets') && query.has('limit')).length ?? 0;
      // A list after a failed one is past the handling of the failure.
      await eventually(asked, (count) => count > 2);
      const { status, unsearched } = await search();
      const list = await server.request('/api/v2/resources/example.com/v1/widgets', { as: 'bob' });

      expect(status).to.equal(200);
      expect(unsearched?.map(({ resource, reason }) => `${resource} ${reason}`)).to.have.members([
        'configmaps Unavailable',
        'widgets Unavailable',
        'gadgets NotInstalled',
      ]);
      expect(list.status).to.equal(503);
      faults?.mend();
      await eventually(search, ({ kinds, unsearched: rest }) => kinds?.length === 2 && rest?.length === 1);
    });
});
