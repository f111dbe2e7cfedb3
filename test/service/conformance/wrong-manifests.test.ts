import { expect } from 'chai';
import { apiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { type Answer, type ApiClient, connect } from './api-client.ts';
import { type Change, Manifests, namespace, readTable, type WrongManifest } from './wrong-manifest.ts';

const table = readTable(new URL('wrong-manifests.yaml', import.meta.url));

interface Row extends WrongManifest {
  code: number;
  /** Words of a refusal or of a warning, or reason and field of each cause. */
  says: string | string[] | undefined;
}

function rowOf(cells: readonly unknown[]): Row {
  const [kind, change, ...rest] = cells as [string, Change, ...unknown[]];
  const how = rest.filter((cell, index) => typeof cell === 'string' && index < rest.findIndex((one) => typeof one === 'number'));
  const [code, says] = rest.slice(how.length) as [number, Row['says']];
  const [verb = 'create', fieldValidation = 'Strict'] = how as [Row['verb']?, Row['fieldValidation']?];
  return { kind, change, verb, fieldValidation, code, says };
}

interface StatusBody {
  message?: string;
  details?: { causes?: { reason: string; field: string }[] };
}

/** Returns an answer in the form of the table. */
function told({ status, body, headers }: Answer): Pick<Row, 'code' | 'says'> {
  const { message = '', details } = body as StatusBody;
  if (status < 300) return { code: status, says: headers.warning?.replace(/^299 - "(.*)"$/, '$1').replaceAll('\\"', '"') };
  if (status !== 422) return { code: status, says: message.replace(/^.* cannot be handled as a \w+: /, '') };
  const causes = (details?.causes ?? []).map(({ reason, field }) => `${reason.replace('FieldValue', '')} ${field}`);
  return { code: status, says: [...new Set(causes)].sort() };
}

describe('manifests with a mistake', () => {
  const rows = table.rows.map((row) => rowOf(row as unknown[]));
  const server = forSuite(() => apiServer({ hasWorkloads: true }));
  const admin = forSuite<ApiClient>(
    () => connect(server, 'admin'),
    (client) => client.close(),
  );
  let manifests: Manifests;
  before(async () => {
    manifests = await Manifests.of(table);
    await admin.create('/api/v1/namespaces', { metadata: { name: namespace } });
    await manifests.createAll(admin);
  });

  it('number 200 and more, of every kind', () => {
    expect(rows).to.have.length.above(199);
    expect([...new Set(rows.map(({ kind }) => kind))]).to.have.members(manifests.kinds);
  });

  for (const kind of Object.keys(table.manifests))
    it(`are refused at the fields and in the words of kube-apiserver: ${kind}`, async () => {
      for (const { code, says, ...row } of rows.filter((one) => one.kind === kind))
        expect(told(await manifests.send(admin, row)), JSON.stringify(row)).to.deep.equal({
          code,
          says: Array.isArray(says) ? says.toSorted() : says,
        });
    });
});
