import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { type Definition, installShipped } from './manifests.ts';
import { shippedVerdicts, userStatus, type Verdict, type Verdicts } from './shipped-verdicts.ts';
import { suiteWorkspace } from './workspace.ts';

describe('the custom resource definitions that are shipped', () => {
  const { workspace, admin } = suiteWorkspace();
  let definitions: Definition[];
  const run = randomBytes(4).toString('hex');
  let serial = 0;
  const created: string[] = [];
  before(async () => {
    definitions = await installShipped(admin);
  });
  after(async () => {
    await Promise.all(created.map((path) => admin.delete(path)));
  });

  const definitionOf = (plural: string) => {
    const found = definitions.find(({ metadata }) => metadata.name === plural);
    if (!found) throw new Error(`${plural} is not shipped`);
    return found;
  };
  const collectionOf = ({ spec }: Definition) =>
    spec.scope === 'Cluster'
      ? `/apis/${spec.group}/v1/${spec.names.plural}`
      : `/apis/${spec.group}/v1/namespaces/${workspace.namespace}/${spec.names.plural}`;
  const anObject = ({ plural, valid, name }: Verdicts, { name: given, spec = {} }: Omit<Verdict, 'what'> = {}) => {
    serial += 1;
    const definition = definitionOf(plural);
    const merged = Object.entries({ ...valid, ...spec }).filter(([, value]) => value !== null);
    const object = {
      apiVersion: `${definition.spec.group}/v1`,
      kind: definition.spec.names.kind,
      metadata: { name: given ?? name(`${run}${serial}`) },
      spec: Object.fromEntries(merged),
    };
    const collection = collectionOf(definition);
    created.push(`${collection}/${object.metadata.name}`);
    return { collection, path: `${collection}/${object.metadata.name}`, object };
  };
  const verdictsOf = (plural: string) => {
    const found = shippedVerdicts.find((each) => each.plural === plural);
    if (!found) throw new Error(`no verdicts for ${plural}`);
    return found;
  };

  it('are all covered here', () => {
    expect(definitions.map(({ metadata }) => metadata.name)).to.have.members(shippedVerdicts.map(({ plural }) => plural));
  });

  it('are established under their names', async () => {
    for (const { metadata, spec } of definitions) {
      const { status } = await admin.read(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`);

      expect(status?.acceptedNames).to.deep.include({ kind: spec.names.kind, plural: spec.names.plural });
      expect(JSON.stringify(status?.conditions)).to.match(/"type":"Established"/);
      expect(JSON.stringify(status?.conditions)).not.to.include('NonStructuralSchema');
    }
  });

  for (const verdicts of shippedVerdicts) {
    describe(verdicts.plural, () => {
      for (const verdict of verdicts.verdicts) {
        it(`${verdict.field === undefined ? 'accepts' : 'refuses'} ${verdict.what}`, async () => {
          const { collection, path, object } = anObject(verdicts, verdict);
          const first = await admin.post(collection, object);
          if (verdict.update) expect(first.status, first.text).to.equal(201);
          const answer = verdict.update ? await admin.patch(path, { spec: verdict.update }) : first;

          if (verdict.field === undefined) return expect(answer.status, answer.text).to.be.oneOf([200, 201]);
          expect(answer.status, answer.text).to.equal(422);
          expect(answer.body).to.have.property('reason', 'Invalid');
          expect(answer.body).to.have.nested.property('details.causes[0].field', verdict.field);
          expect(answer.text).to.include(verdict.text ?? '');
        });
      }

      it('drops unknown fields, and refuses them where validation is strict', async () => {
        const { collection, object } = anObject(verdicts);
        const odd = { ...object, spec: { ...object.spec, password: 'secret' } };
        const strict = await admin.post(collection, odd, { fieldValidation: 'Strict' });
        const lenient = await admin.post(collection, odd);

        expect(strict.status).to.equal(400);
        expect(strict.body).to.have.property('message').that.includes('strict decoding error: unknown field "spec.password"');
        expect(lenient.status).to.equal(201);
        expect(lenient.text).not.to.include('secret');
        expect(lenient.headers.warning).to.include('unknown field \\"spec.password\\"');
      });

      it('has its columns, and its category', async () => {
        const definition = definitionOf(verdicts.plural);
        const columns = definition.spec.versions[0]?.additionalPrinterColumns.map(({ name }) => name) ?? [];
        const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
        const table = await admin.send('GET', collectionOf(definition), { headers: { accept }, query: { limit: 1 } });

        expect(columns).to.include('Age');
        for (const [index, name] of ['Name', ...columns].entries()) {
          expect(table.body).to.have.nested.property(`columnDefinitions[${index}].name`, name);
        }
        expect((await admin.get(`/apis/${definition.spec.group}/v1`)).text).to.include('platform-auth');
      });

      it('can be selected by its fields', async () => {
        const definition = definitionOf(verdicts.plural);
        for (const { jsonPath } of definition.spec.versions[0]?.selectableFields ?? []) {
          expect((await admin.get(collectionOf(definition), { fieldSelector: `${jsonPath.slice(1)}=x` })).status, jsonPath).to.equal(200);
        }
      });
    });
  }

  describe('a User', () => {
    it('has the defaults of its fields', async () => {
      const { collection, object } = anObject(verdictsOf('users.auth.platform.io'), { spec: { is_admin: null } });

      expect((await admin.post(collection, object)).body)
        .to.have.property('spec')
        .that.deep.includes({ is_admin: false, is_disabled: false, state: 'active', valid: true });
    });

    it('has a status that only its subresource writes, held against the schema', async () => {
      const { collection, path, object } = anObject(verdictsOf('users.auth.platform.io'));
      const first = await admin.post(collection, { ...object, status: { phase: 'Normal' } });
      expect(first.body).not.to.have.property('status');
      for (const [status, field] of userStatus.refused) {
        const answer = await admin.patch(`${path}/status`, { status });

        expect(answer.status, answer.text).to.equal(422);
        expect(answer.body).to.have.nested.property('details.causes[0].field', field);
      }
      const accepted = await admin.patch(`${path}/status`, { status: userStatus.valid });
      expect(accepted.body).to.have.property('status').that.deep.equals(userStatus.valid);
    });

    it('is selected by boolean and text fields, and by its phase', async () => {
      const label = { labels: { run: `${run}-selected` } };
      const verdicts = verdictsOf('users.auth.platform.io');
      const [plain, disabled] = [anObject(verdicts), anObject(verdicts, { spec: { is_disabled: true } })];
      await admin.create(plain.collection, { ...plain.object, metadata: { ...plain.object.metadata, ...label } });
      await admin.create(plain.collection, { ...disabled.object, metadata: { ...disabled.object.metadata, ...label } });
      await admin.patch(`${plain.path}/status`, { status: { phase: 'Normal' } });
      const select = async (fieldSelector: string) => {
        const list = await admin.list(plain.collection, { fieldSelector, labelSelector: `run=${run}-selected` });
        return list.items.map((item) => item.metadata.name);
      };

      expect(await select('spec.is_disabled=true')).to.deep.equal([disabled.object.metadata.name]);
      expect(await select('spec.is_disabled=false')).to.deep.equal([plain.object.metadata.name]);
      expect(await select('status.phase=Normal')).to.deep.equal([plain.object.metadata.name]);
      expect(await select('status.phase=')).to.deep.equal([disabled.object.metadata.name]);
    });
  });
});
