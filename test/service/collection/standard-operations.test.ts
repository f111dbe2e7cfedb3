/** The standard operations, for each resource that has them. The tests of a resource prove its own rules. */
import { expect } from 'chai';
import { App } from '../../../src/app.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aResource, standardResources } from './standard-resources.ts';

interface Asked {
  status: number;
  headers: Headers;
  body: {
    kind?: string;
    total?: number;
    reason?: string;
    items?: { metadata: { name: string } }[];
    metadata?: { name: string; uid: string; resourceVersion: string; continue?: string };
    spec?: Record<string, unknown>;
    details?: { causes?: { field?: string }[] };
  };
}

const mergePatch = { 'content-type': 'application/merge-patch+json' };
const jsonPatch = { 'content-type': 'application/json-patch+json' };

describe('the standard operations', () => {
  const server = forSuite(() => startServer({ config: { features: { userBindings: true } } }));

  const ask = async (
    method: string,
    path: string,
    { as = 'admin', ...options }: { as?: 'admin' | 'alice' | undefined; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Asked> => {
    const response = await server.request(path, { method, as, ...options });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
  };
  const eventsOn = (target: string) =>
    server.auditLines.flatMap((line) => {
      const event = JSON.parse(line);
      return event.target === target && event.outcome === 'success' ? [`${event.audit} ${event.code} ${event.actor.name}`] : [];
    });

  for (const resource of standardResources) {
    const { kind, plural, path, spec, refused, change } = resource;
    const native = `/apis/auth.platform.io/v1/${plural}`;
    const nameOf = (name: string) => `${name}-${plural}`;
    const create = (name: string) => ask('POST', path, { body: { metadata: { name: nameOf(name) }, spec } });
    const stored = async (name: string) => (await server.kubernetes.call('GET', `${native}/${nameOf(name)}`)).status;

    describe(`of ${plural}`, () => {
      it('are in the OpenAPI document with their schemas', () => {
        const { paths = {} } = App.describe();
        const ids = [path, `${path}/{name}`].flatMap((one) =>
          Object.values(paths[one] ?? {}).flatMap((operation) =>
            typeof operation === 'object' && 'operationId' in operation ? [operation.operationId] : [],
          ),
        );
        expect(ids).to.include.members([`List${kind}s`, `Create${kind}`, `Get${kind}`, `Delete${kind}`]);
        expect(ids.includes(`Patch${kind}`)).to.equal(change !== undefined);
        expect(JSON.stringify(paths[`${path}/{name}`]?.get?.responses?.[200])).to.include(`#/components/schemas/${kind}`);
      });

      it('create an object, tell where it is, and audit the write', async () => {
        const made = await create('made');

        expect(made.status, JSON.stringify(made.body)).to.equal(201);
        expect(made.headers.get('location')).to.equal(`${path}/${nameOf('made')}`);
        expect(made.headers.get('etag')).to.equal(`"${made.body.metadata?.resourceVersion}"`);
        expect(made.body).to.include({ apiVersion: 'auth.platform.io/v1', kind });
        expect(made.body.spec).to.deep.include(spec);
        expect(made.body.metadata).not.to.have.property('managedFields');
        expect((await ask('GET', `${path}/${nameOf('made')}`)).status).to.equal(200);
        expect(await stored('made')).to.equal(200);
        expect(eventsOn(nameOf('made'))).to.deep.equal([`${kind}Created 201 admin`]);
        expect((await create('made')).status).to.equal(409);
      });

      it('create nothing on a dry run, and audit none', async () => {
        const name = nameOf('tried');
        expect((await ask('POST', `${path}?dryRun=All`, { body: { metadata: { name }, spec } })).status).to.equal(201);
        expect(await stored('tried')).to.equal(404);
        expect(eventsOn(name)).to.deep.equal([]);
      });

      it('refuse an object that breaks a rule, and name the field', async () => {
        const { status, body } = await ask('POST', path, {
          body: { metadata: { name: nameOf('odd') }, spec: { ...spec, ...refused.spec } },
        });

        expect(status).to.equal(422);
        expect(body.reason).to.equal('Invalid');
        expect((body.details?.causes ?? []).map(({ field }) => field)).to.deep.equal([refused.field]);
        expect(await stored('odd')).to.equal(404);
      });

      it('refuse an unknown field where validation is strict', async () => {
        const body = { metadata: { name: nameOf('strict') }, spec: { ...spec, password: 'secret' } };
        expect((await ask('POST', `${path}?fieldValidation=Strict`, { body })).status).to.equal(400);
        expect(await stored('strict')).to.equal(404);
      });

      it('refuse callers without a credential or the right, whether or not the object exists', async () => {
        await create('hidden');
        expect((await server.request(path)).status).to.equal(401);
        const as = 'alice';
        const answers = [
          await ask('GET', path, { as }),
          await ask('POST', path, { as, body: { metadata: { name: nameOf('theirs') }, spec } }),
          ...(await Promise.all(
            ['hidden', 'absent'].flatMap((name) => [
              ask('GET', `${path}/${nameOf(name)}`, { as }),
              ask('DELETE', `${path}/${nameOf(name)}`, { as }),
              ...(change ? [ask('PATCH', `${path}/${nameOf(name)}`, { as, body: { spec: {} }, headers: mergePatch })] : []),
            ]),
          )),
        ];
        expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 403));
        expect([await stored('hidden'), await stored('theirs')]).to.deep.equal([200, 404]);
      });

      it('list by filter and selector in pages, and follow the newest write', async () => {
        for (const name of ['list-a', 'list-b', 'list-c']) await create(name);
        const namesOf = ({ body }: Asked) => body.items?.map(({ metadata }) => metadata.name);

        const first = await ask('GET', `${path}?filterBy=name,list-&sortBy=d,name&limit=2`);
        expect(first.status).to.equal(200);
        expect(first.body.kind).to.equal(`${kind}List`);
        expect(namesOf(first)).to.deep.equal([nameOf('list-c'), nameOf('list-b')]);
        const next = encodeURIComponent(first.body.metadata?.continue ?? '');
        const second = await ask('GET', `${path}?filterBy=name,list-&sortBy=d,name&limit=2&continue=${next}`);
        expect(namesOf(second)).to.deep.equal([nameOf('list-a')]);
        expect(namesOf(await ask('GET', `${path}?fieldSelector=metadata.name=${nameOf('list-b')}`))).to.deep.equal([nameOf('list-b')]);
        expect((await ask('GET', `${path}?sortBy=nothing`)).status).to.equal(400);
      });

      it('show an object with its version, and answer 304 while that is current', async () => {
        const object = `${path}/${nameOf('shown')}`;
        const made = await create('shown');
        // A controller may write the status meanwhile.
        await eventually(
          async () => {
            const { headers, body } = await ask('GET', object);
            expect(body.metadata?.uid).to.equal(made.body.metadata?.uid);
            expect(headers.get('etag')).to.equal(`"${body.metadata?.resourceVersion}"`);
            return (await ask('GET', object, { headers: { 'if-none-match': headers.get('etag') ?? '' } })).status;
          },
          (status) => status === 304,
        );
        expect((await ask('GET', `${path}/${nameOf('absent')}`)).status).to.equal(404);
      });

      if (change === undefined)
        it('refuse a change with 405', async () => {
          expect((await ask('PATCH', `${path}/${nameOf('made')}`, { body: {}, headers: mergePatch })).status).to.equal(405);
        });
      else
        it('change an object by both forms of a patch, and refuse another version or test', async () => {
          const { member, value } = change;
          const name = nameOf('changed');
          const object = `${path}/${name}`;
          await create('changed');
          const changed = await ask('PATCH', object, { body: { spec: { [member]: value } }, headers: mergePatch });

          expect(changed.status, JSON.stringify(changed.body)).to.equal(200);
          expect(changed.body.spec).to.have.property(member, value);
          expect((await ask('GET', object)).body.spec).to.have.property(member, value);
          const operations = (tested: unknown) => [
            { op: 'test', path: `/spec/${member}`, value: tested },
            { op: 'replace', path: `/spec/${member}`, value: spec[member] },
          ];
          expect((await ask('PATCH', object, { body: operations(spec[member]), headers: jsonPatch })).status).to.equal(422);
          expect((await ask('PATCH', object, { body: operations(value), headers: { ...jsonPatch, 'if-match': '"1"' } })).status).to.equal(
            409,
          );
          expect((await ask('PATCH', object, { body: operations(value), headers: jsonPatch })).body.spec).to.have.property(
            member,
            spec[member],
          );
          const same = await ask('PATCH', object, { body: { spec: { [member]: spec[member] } }, headers: mergePatch });
          expect(same.status).to.equal(200);
          expect(eventsOn(name)).to.deep.equal([`${kind}Created 201 admin`, ...Array(2).fill(`${kind}Patched 200 admin`)]);
        });

      it('delete an object that meets the preconditions, and audit the write', async () => {
        const name = nameOf('deleted');
        const object = `${path}/${name}`;
        const made = await create('deleted');
        const { uid = '' } = made.body.metadata ?? {};
        expect((await ask('DELETE', object, { body: { preconditions: { uid: 'another' } } })).status).to.equal(409);
        expect((await ask('DELETE', `${object}?dryRun=All`)).status).to.equal(204);
        expect(await stored('deleted')).to.equal(200);

        expect((await ask('DELETE', object, { body: { preconditions: { uid } } })).status).to.equal(204);

        expect((await ask('GET', object)).status).to.equal(404);
        expect(await stored('deleted')).to.equal(404);
        expect((await ask('DELETE', object)).status).to.equal(404);
        expect(eventsOn(name)).to.deep.equal([`${kind}Created 201 admin`, `${kind}Deleted 204 admin`]);
      });

      it('answer objects that another client wrote', async () => {
        await server.kubernetes.apply(aResource(resource, nameOf('applied')));
        await eventually(
          () => ask('GET', `${path}/${nameOf('applied')}`),
          ({ status }) => status === 200,
        );
      });
    });
  }
});
