import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { clientOf, FakeApiServer, silentLog } from '../../../packages/kubernetes/test/fake-api-server.ts';
import { until } from '../../../packages/kubernetes/test/watch-fixture.ts';
import { printerColumns } from '../../../src/listed-resources/columns.ts';
import { ResourceRow } from '../../../src/listed-resources/row.ts';

const metadata = (name: string, resourceVersion: string) => ({
  ...{ name, resourceVersion, uid: `uid-of-${name}` },
  creationTimestamp: '2026-01-12T08:30:00Z',
});

const definition = {
  metadata: metadata('ledgers.example.com', '1'),
  spec: {
    versions: [
      {
        name: 'v1',
        additionalPrinterColumns: [
          { name: 'Account', type: 'integer', jsonPath: '.spec.account' },
          { name: 'Text', type: 'string', jsonPath: '.spec.account' },
          { name: 'Exact', type: 'string', jsonPath: '.spec.entries[?(@.of==9007199254740991)].id' },
          { name: 'All', type: 'string', jsonPath: '.spec.entries' },
        ],
      },
    ],
  },
};

/** Returns the JSON of a ledger, with numbers that `JSON.stringify` cannot write. */
const ledger = (name: string, version: string, account: string) =>
  `{"metadata":${JSON.stringify(metadata(name, version))},"spec":{"account":${account},"entries":[{"id":-9223372036854775808,"of":9007199254740991}]}}`;

describe('integers of rows that a double cannot hold (cases/04)', () => {
  it('keep every digit from the list and from the watch', async () => {
    const server = await new FakeApiServer().start();
    server.answer(({ query }, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' });
      const list = `{"metadata":{"resourceVersion":"2"},"items":[${ledger('listed', '2', '9007199254740993')}]}`;
      if (query.get('watch') !== 'true') return response.end(list);
      return response.write(`{"type":"ADDED","object":${ledger('watched', '3', '9223372036854775807')}}\n`);
    });
    const { columns } = printerColumns(definition, 'v1');
    const parts = { client: clientOf(server).asService, log: silentLog, metrics: new Metrics() };
    const type = { group: 'example.com', version: 'v1', resource: 'ledgers' };
    const keep = (object: ConstructorParameters<typeof ResourceRow>[0]) => new ResourceRow(object, columns);
    const cache = new WatchCache<ResourceRow>(parts, { name: 'ledgers', type, keepsDigits: true, keep });
    cache.start();
    await until(() => cache.get('watched') !== undefined);
    const texts = [...cache.values()].map(({ text }) => text.slice(text.indexOf('"values"')));
    await cache.stop();
    await server.stop();

    const rest = '"exact":"-9223372036854775808","all":"[{\\"id\\":-9223372036854775808,\\"of\\":9007199254740991}]"}}';
    expect(texts).to.deep.equal([
      `"values":{"account":9007199254740993,"text":"9007199254740993",${rest}`,
      `"values":{"account":9223372036854775807,"text":"9223372036854775807",${rest}`,
    ]);
  });
});
