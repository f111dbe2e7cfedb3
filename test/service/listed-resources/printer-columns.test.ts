/** Printer columns of custom resources, compared with the cells of the API server's Table. */
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { z } from 'zod';
import { eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { startServer, type TestServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';

interface Printed {
  title: string;
  name: string;
  type: string;
  jsonPath: string;
  value: unknown;
  /** Text of the Table if it differs from that of the list, such as an age. */
  cell?: RegExp;
}

const printed = (title: string, name: string, jsonPath: string, value: unknown, type = 'string', cell?: RegExp): Printed => ({
  ...{ title, name, type, jsonPath, value },
  ...(cell && { cell }),
});

/** Columns of cases/11, and further forms of k8s.io/client-go/util/jsonpath. */
const columns: readonly Printed[] = [
  printed('Plain', 'plain', '.spec.color', 'red'),
  printed('Instance', 'instance', '.metadata.labels.node\\.kubernetes\\.io/instance-type', 'm5'),
  printed('Bracket', 'bracket', ".metadata.labels['example\\.com/custom-value']", 'own'),
  printed('Dots', 'dots', ".metadata.labels['example.com/custom-value']", null),
  printed('Wave', 'wave', '.metadata.annotations.argocd\\.argoproj\\.io/sync-wave', '3'),
  printed('Ready', 'ready', '.status.conditions[?(@.type=="Ready")].status', 'True'),
  printed('ReadySingle', 'readySingle', ".status.conditions[?(@.type=='Ready')].reason", 'Up'),
  printed('NotReady', 'notReady', '.status.conditions[?(@.status!="True")].type', 'Synced'),
  printed('Last', 'last', '.status.conditions[-1:].type', 'Synced'),
  printed('Newest', 'newest', '.status.conditions[-1].type', 'Synced'),
  printed('Slice', 'slice', '.status.conditions[0:2].type', 'Ready'),
  printed('Beyond', 'beyond', '.status.conditions[0:9].type', null),
  printed('Third', 'third', '.status.conditions[2].type', null),
  printed('Hosts', 'hosts', '.spec.hosts', '["a","b","c"]'),
  printed('HostsEach', 'hostsEach', '.spec.hosts[*]', 'a'),
  printed('Second', 'second', '.spec.hosts[::2]', 'a'),
  printed('Both', 'both', '.spec.hosts[1,2]', 'b'),
  printed('Size', 'size', '.spec.size', '7'),
  printed('Sized', 'sized', '.spec.size', 7, 'integer'),
  printed('Cut', 'cut', '.spec.ratio', 1, 'integer'),
  printed('Ratio', 'ratio', '.spec.ratio', 1.5, 'number'),
  printed('Million', 'million', '.spec.million', '1.0000005e+06'),
  printed('Tiny', 'tiny', '.spec.tiny', '1.2e-07'),
  printed('Map', 'map', '.spec.map', '{"a":"\\u003cx\\u003e","b":1}'),
  printed('Empty', 'empty', '.spec.none', '[]'),
  printed('Zero', 'zero', '.spec.zero', 0, 'integer'),
  printed('NoNumber', 'noNumber', '.spec.digits', null, 'integer'),
  printed('Bool', 'bool', '.spec.flag', false, 'boolean'),
  printed('Flag', 'flag', '.spec.flag', 'false'),
  printed('When', 'when', '.status.when', '2020-01-01T00:00:00Z', 'date', /^\d+y/),
  printed('Deep', 'deep', '..image', 'registry.example.com/shirt:1'),
  printed('Data', 'data', '.spec.data.kind', 'cotton'),
  printed('Env', 'env', '.spec.env', 'live'),
  printed('Status', 'status', '.status.phase', 'Bound'),
  printed('Port', 'port', '.spec.ports[?(@.port>80)].name', 'tls'),
  printed('Float', 'float', '.spec.ports[?(@.port==80.0)].name', null),
  printed('Open', 'open', '.spec.ports[?(@.open==true)].name', 'web'),
  printed('Named', 'named', '.spec.ports[?(@.open)].port', '80'),
  printed('Text', 'text', '.spec.color[0]', null),
  printed('Missing', 'missing', '.spec.missing[?(@.a=="b")].c', null),
  printed('Name', 'nameColumn', '.spec.realName', 'Real Name'),
  printed('Owner', 'ownerColumn', '.spec.owner', 'team'),
  printed('A', 'aColumn', '.spec.a', 'letter'),
  printed('Größe', 'größe', '.spec.umlaut', 'groß'),
  printed('名称', '名称', '.spec.chinese', '衬衫'),
  printed('%', 'column', '.spec.percent', '12 %'),
  printed('Serial', 'serial', '.spec.account', 9_007_199_254_740_992, 'integer'),
  printed('Wave', 'waveColumn', '.spec.second', 'again'),
];

const definition: Manifest = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'shirts.stable.example.com' },
  spec: {
    group: 'stable.example.com',
    scope: 'Namespaced',
    names: { plural: 'shirts', singular: 'shirt', kind: 'Shirt', listKind: 'ShirtList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        additionalPrinterColumns: [
          ...columns.map(({ title, type, jsonPath }) => ({ name: title, type, jsonPath })),
          // The API server shows no column after one that it cannot parse.
          { name: 'Broken', type: 'string', jsonPath: '.spec.color[x]' },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
      },
    ],
  },
};

const shirt: Manifest = {
  apiVersion: 'stable.example.com/v1',
  kind: 'Shirt',
  metadata: {
    name: 'one',
    namespace: 'wardrobe',
    labels: { 'node.kubernetes.io/instance-type': 'm5', 'example.com/custom-value': 'own' },
    annotations: { 'argocd.argoproj.io/sync-wave': '3' },
  },
  spec: {
    ...{
      color: 'red',
      hosts: ['a', 'b', 'c'],
      size: 7,
      ratio: 1.5,
      million: 1_000_000.5,
      tiny: 0.000_000_12,
      none: [],
      zero: 0,
      digits: '5',
    },
    ...{ map: { b: 1, a: '<x>' }, flag: false, data: { kind: 'cotton' }, env: 'live', template: { image: 'registry.example.com/shirt:1' } },
    ports: [
      { name: 'web', port: 80, open: true },
      { name: 'tls', port: 443 },
    ],
    ...{ realName: 'Real Name', owner: 'team', a: 'letter', umlaut: 'groß', chinese: '衬衫', percent: '12 %', second: 'again' },
    account: JSON.rawJSON?.('9007199254740993'),
  },
  status: {
    ...{ when: '2020-01-01T00:00:00Z', phase: 'Bound' },
    conditions: [
      { type: 'Ready', status: 'True', reason: 'Up' },
      { type: 'Synced', status: 'False', reason: 'Late' },
    ],
  },
};

const rights = (group: string, resources: string[], names?: string[]) => ({
  ...{ apiGroups: [group], resources, verbs: ['get', 'list', 'watch'] },
  ...(names && { resourceNames: names }),
});

const objects: readonly Manifest[] = [
  aNamespace('wardrobe'),
  definition,
  aRole('shirts', [
    rights('stable.example.com', ['shirts']),
    rights('apiextensions.k8s.io', ['customresourcedefinitions'], ['shirts.stable.example.com']),
  ]),
  aBinding('shirts-service', { role: 'shirts', to: `ServiceAccount:${serviceNamespace}/atrium` }),
  aBinding('shirts-bob', { role: 'shirts', to: 'User:bob' }),
];

const list = z.looseObject({
  total: z.int(),
  columns: z.array(z.strictObject({ name: z.string(), title: z.string().optional(), type: z.string() })),
  items: z.array(z.looseObject({ values: z.record(z.string(), z.unknown()) })),
});
const table = z.looseObject({
  columnDefinitions: z.array(z.looseObject({ name: z.string() })),
  rows: z.array(z.looseObject({ cells: z.array(z.unknown()) })),
});

describe('printer columns in lists (cases/11)', () => {
  const shirts = '/apis/stable.example.com/v1/namespaces/wardrobe/shirts';
  let server: TestServer;
  let found: z.output<typeof list>;

  before(async () => {
    const lists = { resources: [{ group: 'stable.example.com', version: 'v1', resource: 'shirts' }] };
    server = await startServer({ config: { lists }, objects });
    await eventually(
      () => server.kubernetes.call('POST', shirts, shirt),
      ({ status }) => status === 201,
    );
    found = await eventually(
      async () => {
        const response = await server.request('/api/v2/resources/stable.example.com/v1/shirts', { as: 'bob' });
        return response.status === 200 ? list.parse(await response.json()) : undefined;
      },
      (answer) => answer?.total === 1,
    ).then((answer) => list.parse(answer));
  });
  after(() => server.stop());

  it('have a name for filters, and the heading as it is written', () => {
    expect(found.columns.map(({ name, title }) => ({ name, title }))).to.deep.equal(columns.map(({ name, title }) => ({ name, title })));
  });

  it('hold the value of each cell that kubectl shows', async () => {
    const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
    const { columnDefinitions, rows } = table.parse((await server.kubernetes.call('GET', shirts, undefined, { accept })).body);
    const cells = rows[0]?.cells ?? [];

    expect(columnDefinitions.map(({ name }) => name)).to.deep.equal(['Name', ...columns.map(({ title }) => title)]);
    for (const [index, { name, jsonPath, value, cell }] of columns.entries()) {
      expect(found.items[0]?.values[name], jsonPath).to.deep.equal(value);
      if (cell === undefined) expect(cells[index + 1], jsonPath).to.deep.equal(value);
      else expect(cells[index + 1], jsonPath).to.match(cell);
    }
  });

  it('are named in the log and by /readyz?verbose where their path cannot be read', async () => {
    const verbose = await (await fetch(`${server.metricsURL}/readyz?verbose`)).text();

    expect(verbose).to.contain('printer-columns');
    expect(verbose).to.contain('shirts.v1.stable.example.com has printer columns whose JSONPath cannot be read: Broken (.spec.color[x])');
    expect(server.logLines.join('\n')).to.contain('Broken (.spec.color[x])');
  });

  it('hold the digits that the API server holds (cases/04)', async () => {
    const address = '/api/v2/resources/stable.example.com/v1/shirts';
    const digitsOf = (text: string) => /"(?:serial|account)":(\d+)/.exec(text)?.[1];
    const asked = ['', '?pretty=true', '?summary=serial'];
    const [rows, pretty, summary] = await Promise.all(
      asked.map(async (query) => (await server.request(`${address}${query}`, { as: 'bob' })).text()),
    );
    const native = await (await server.request(`/api/kubernetes${shirts}/one`, { as: 'bob' })).text();
    const found = await (await server.request(`${address}?filterBy=serial,${digitsOf(native)}`, { as: 'bob' })).text();

    expect(digitsOf(native)).to.match(/^900719925474099\d$/);
    expect(digitsOf(rows ?? '')).to.equal(digitsOf(native));
    expect(pretty?.match(/"serial": (\d+)/)?.[1]).to.equal(digitsOf(native));
    expect(summary).to.contain(`"value":${digitsOf(native)},"count":1`);
    expect(found).to.contain('"total":1');
  });

  it('are filtered and sorted by their names', async () => {
    const query = new URLSearchParams({ filterBy: 'größe,groß,nameColumn,real', sortBy: 'd,名称' });
    const answer = await server.request(`/api/v2/resources/stable.example.com/v1/shirts?${query}`, { as: 'bob' });

    expect(list.parse(await answer.json()).total).to.equal(1);
  });
});
