import { Readable } from 'node:stream';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { preparedJson, sendJsonText } from '@atrium/http/json-answers.ts';
import { compressed, operation } from '@atrium/http/operation.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { badRequest } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { request } from 'undici';
import { startBareService } from '../../../packages/http/test/bare-service.ts';
import { App } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { forSuite } from '../../support/for-suite.ts';
import { noConnection } from '../../support/installed-cluster.ts';

const answers = { 200: { description: 'done' } };
const common = { tag: 'test', summary: 'test', answers, method: 'GET', credential: 'none' } as const;
const items = Array.from({ length: 200 }, (_, index) => ({ name: `person-${index}`, email: `person-${index}@example.com` }));
const text = JSON.stringify({ items });
const prepared = preparedJson(text);

const operations = [
  operation({
    ...common,
    id: 'Prepared',
    paths: ['/api/prepared'],
    before: [compressed],
    handle: ({ ctx }) => sendJsonText(ctx, prepared),
  }),
  operation({
    ...common,
    id: 'Object',
    paths: ['/api/object'],
    before: [compressed],
    handle({ ctx }) {
      ctx.body = { items };
    },
  }),
  operation({
    ...common,
    id: 'Stream',
    paths: ['/api/stream'],
    before: [compressed],
    handle({ ctx }) {
      ctx.type = 'json';
      ctx.body = Readable.from([text.slice(0, 100), text.slice(100)]);
    },
  }),
  operation({
    ...common,
    id: 'Broken',
    paths: ['/api/broken'],
    before: [compressed],
    handle({ ctx }) {
      ctx.type = 'json';
      ctx.body = Readable.from(
        (async function* () {
          yield text;
          throw new Error('the source broke');
        })(),
      );
    },
  }),
  operation({
    ...common,
    id: 'Small',
    paths: ['/api/small'],
    before: [compressed],
    handle({ ctx }) {
      ctx.body = { a: 1 };
    },
  }),
  operation({
    ...common,
    id: 'Picture',
    paths: ['/api/picture'],
    before: [compressed],
    handle({ ctx }) {
      ctx.type = 'image/png';
      ctx.body = Buffer.alloc(4096);
    },
  }),
  operation({
    ...common,
    id: 'Refused',
    paths: ['/api/refused'],
    before: [compressed],
    handle() {
      throw badRequest('x'.repeat(4096));
    },
  }),
  operation({
    ...common,
    id: 'Token',
    paths: ['/api/token'],
    handle({ ctx }) {
      ctx.body = { items };
    },
  }),
];

describe('a compressed answer', () => {
  const service = forSuite(() => startBareService(operations));

  const get = async (path: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') => {
    const { statusCode, headers: given, body } = await request(`${service.url}/api/${path}`, { method, headers });
    return { status: statusCode, headers: given, bytes: Buffer.from(await body.arrayBuffer()) };
  };
  const opened = { gzip: gunzipSync, br: brotliDecompressSync };

  for (const encoding of ['gzip', 'br'] as const)
    for (const path of ['prepared', 'object', 'stream'])
      it(`is sent as ${encoding} to clients that ask for it (${path})`, async () => {
        const { status, headers, bytes } = await get(path, { 'accept-encoding': encoding });

        expect(status).to.equal(200);
        expect(headers['content-encoding']).to.equal(encoding);
        expect(headers['content-type']).to.equal('application/json; charset=utf-8');
        expect(headers.vary).to.match(/Accept-Encoding/);
        expect(bytes.length).to.be.below(text.length / 4);
        expect(opened[encoding](bytes).toString()).to.equal(text);
        if (path !== 'stream') expect(headers['content-length']).to.equal(String(bytes.length));
      });

  it('goes by the preference of the caller', async () => {
    const encodings: Record<string, string | undefined> = {
      'gzip;q=0.5, br': 'br',
      'br;q=0, gzip;q=0.1': 'gzip',
      'gzip, deflate, br, zstd': 'gzip',
      '*': 'br',
      'gzip;q=0, br;q=0': undefined,
      identity: undefined,
      deflate: undefined,
    };
    for (const [accepted, encoding] of Object.entries(encodings)) {
      const { headers, bytes } = await get('prepared', { 'accept-encoding': accepted });
      expect(headers['content-encoding'], accepted).to.equal(encoding);
      expect(headers.vary, accepted).to.match(/Accept-Encoding/);
      if (encoding === undefined) expect(bytes.toString()).to.equal(text);
    }
    expect((await get('prepared')).headers).to.not.have.property('content-encoding');
  });

  it('has an ETag for each encoding, and 304 for clients that have it', async () => {
    const tags = new Set<string>();
    for (const encoding of ['gzip', 'br', 'identity']) {
      const { headers } = await get('prepared', { 'accept-encoding': encoding });
      const etag = String(headers.etag);
      tags.add(etag);
      const again = await get('prepared', { 'accept-encoding': encoding, 'if-none-match': etag });
      expect(again.status, encoding).to.equal(304);
      expect(again.headers.etag).to.equal(etag);
      expect(again.headers.vary).to.match(/Accept-Encoding/);
      expect(again.headers).to.not.have.property('content-encoding');
    }
    expect(tags.size).to.equal(3);
    const [other = ''] = tags;
    expect((await get('prepared', { 'accept-encoding': 'identity', 'if-none-match': other })).status).to.equal(200);
  });

  it('answers HEAD with the headers of GET', async () => {
    for (const path of ['prepared', 'object'])
      for (const encoding of ['gzip', 'br', 'identity']) {
        const [whole, head] = [await get(path, { 'accept-encoding': encoding }), await get(path, { 'accept-encoding': encoding }, 'HEAD')];
        for (const name of ['content-encoding', 'content-length', 'content-type', 'etag', 'vary'])
          expect(head.headers[name], name).to.equal(whole.headers[name]);
        expect(head.bytes.length).to.equal(0);
      }
  });

  it('indents first, under an ETag of its own', async () => {
    const { headers, bytes } = await get('prepared?pretty=true', { 'accept-encoding': 'gzip' });
    expect(headers.etag).to.equal(prepared.etag.replace(/"$/, '.pretty.gz"'));
    expect(gunzipSync(bytes).toString()).to.equal(`${JSON.stringify({ items }, null, 2)}\n`);
  });

  it('does not compress small answers, other types than JSON, failures, and answers of operations that do not declare it', async () => {
    for (const path of ['small', 'picture', 'refused', 'token']) {
      const { headers } = await get(path, { 'accept-encoding': 'gzip, br' });
      expect(headers, path).to.not.have.any.keys('content-encoding');
    }
  });

  it('cuts an answer whose source breaks, and serves the next one', async () => {
    const failure = await get('broken', { 'accept-encoding': 'gzip' }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(failure).to.be.an('error');
    expect((await get('prepared', { 'accept-encoding': 'gzip' })).status).to.equal(200);
  });
});

describe('the operations whose answers are compressed', () => {
  const { operations: all } = new App({
    config: parseConfig({ yaml: 'server: { publicURL: https://console.example.com }' }),
    connection: noConnection,
    environment: {},
    log: createLog({ level: 'silent', format: 'json' }),
  });
  const shrinking = all.filter(({ before }) => before?.includes(compressed));

  it('exclude section 4, and operations that answer with a credential', () => {
    const ids = shrinking.map(({ id }) => id);
    expect(ids).to.include.members(['OpenApi', 'ListUsers', 'ListUsersV1', 'ListUsersNative', 'HandleEnvVars', 'HandleModules']);
    for (const { id, tag } of shrinking) expect(tag, id).to.not.be.oneOf(['login', 'access tokens']);
    for (const { id, paths } of shrinking)
      for (const path of paths) expect(path, id).to.not.match(/token|authorize|kubeconfig|pubkey|session|metrics|plugin\//);
  });

  it('exclude operations with an ETag for If-Match', () => {
    const conditional = all.filter(({ described }) => 'If-Match' in (described?.headers ?? {})).flatMap(({ paths }) => paths);
    expect(conditional).to.have.length.above(0);
    for (const { id, paths } of shrinking) expect(conditional, id).to.not.include.members([...paths]);
  });
});
