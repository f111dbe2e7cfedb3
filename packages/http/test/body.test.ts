import { formReader } from '@atrium/http/body.ts';
import { operation } from '@atrium/http/operation.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { forSuite } from '../../../test/support/for-suite.ts';
import { sendRaw } from '../../../test/support/raw-http.ts';
import { startBareService } from './bare-service.ts';

const common = { tag: 'test', summary: 'test', answers: { 200: { description: 'done' } }, method: 'POST', credential: 'none' } as const;
/** Answers with what it was sent. */
const echo = {
  body: z.unknown(),
  handle({ ctx, body }: { ctx: { body: unknown }; body: unknown }) {
    ctx.body = { body };
  },
};
const readForm = formReader(64);
const operations = [
  operation({
    ...common,
    id: 'Json',
    paths: ['/api/json'],
    ...echo,
  }),
  operation({
    ...common,
    id: 'Patch',
    paths: ['/api/patch'],
    bodyTypes: ['application/merge-patch+json', 'application/json-patch+json'],
    ...echo,
  }),
  operation({
    ...common,
    id: 'Form',
    paths: ['/api/form'],
    async handle({ ctx }) {
      ctx.body = { body: [...(await readForm(ctx))] };
    },
  }),
];

describe('the body of a request', () => {
  const service = forSuite(() => startBareService(operations, { bodyLimit: 256 }));

  const form = 'application/x-www-form-urlencoded';
  const post = async (path: string, type: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) => {
    const response = await fetch(`${service.url}/api/${path}`, { method: 'POST', headers: { 'content-type': type, ...headers }, body });
    return { status: response.status, text: await response.text() };
  };

  it('is JSON of the types that the operation takes, in UTF-8', async () => {
    for (const type of [
      'application/json',
      'Application/JSON; charset=utf-8',
      'application/merge-patch+json',
      'application/json-patch+json',
    ]) {
      const path = type.includes('patch') ? 'patch' : 'json';
      const { status, text } = await post(path, type, '{"name":"Zoë \u{1F600} \uFFFD","list":[1,null,"a"]}');
      expect(status, text).to.equal(200);
      expect(JSON.parse(text)).to.deep.equal({ body: { name: 'Zoë \u{1F600} \uFFFD', list: [1, null, 'a'] } });
    }
    for (const value of ['"text"', '7', 'null', 'true', '[]'])
      expect((await post('json', 'application/json', value)).text).to.equal(`{"body":${value}}`);
  });

  it('is the fields of a form, as they were sent', async () => {
    const { status, text } = await post('form', form, 'a=1&a=2&b[c]=%C3%A9&d.e=+&__proto__=x');
    expect(status).to.equal(200);
    expect(JSON.parse(text).body).to.deep.equal([
      ['a', '1'],
      ['a', '2'],
      ['b[c]', 'é'],
      ['d.e', ' '],
      ['__proto__', 'x'],
    ]);
  });

  it('is 415 for another type, and for any Content-Encoding', async () => {
    for (const [path, type] of [
      ['json', form],
      ['json', 'text/plain'],
      ['json', 'application/merge-patch+json'],
      ['patch', 'application/json'],
      ['form', 'application/json'],
      ['form', 'multipart/form-data; boundary=x'],
    ] as const)
      expect((await post(path, type, 'a=1')).status, `${path} ${type}`).to.equal(415);
    for (const encoding of ['gzip', 'identity', 'br'])
      expect((await post('json', 'application/json', '{}', { 'content-encoding': encoding })).status, encoding).to.equal(415);
  });

  it('LIM-01 is 413 over the limit, announced or not', async () => {
    expect((await post('json', 'application/json', `"${'x'.repeat(256)}"`)).status).to.equal(413);
    expect((await post('form', form, `a=${'x'.repeat(64)}`)).status).to.equal(413);
    const head = (path: string, type: string) =>
      `POST /api/${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
    const chunk = `120\r\n${'x'.repeat(288)}\r\n`;
    for (const [path, type] of [
      ['json', 'application/json'],
      ['form', form],
    ] as const)
      expect((await sendRaw(service.port, head(path, type), chunk)).status, path).to.equal(413);
  });

  it('is 400 for bytes that are not UTF-8, and never mended', async () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]]) {
      const json = Buffer.concat([Buffer.from('{"name":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expect((await post('json', 'application/json', new Uint8Array(json))).status).to.equal(400);
      expect((await post('form', form, new Uint8Array(Buffer.concat([Buffer.from('a='), Buffer.from(bytes)])))).status).to.equal(400);
    }
  });

  it('LEAK-04 is missing from answers and log lines, whatever is wrong with it', async () => {
    const secret = 'hunter2hunter2';
    for (const body of [`{"password":"${secret}"`, `{"password":"${secret}","password":"${secret}"}`, `${secret}`, `["${secret}",]`]) {
      const { status, text } = await post('json', 'application/json', body);
      expect(status, body).to.equal(400);
      expect(JSON.parse(text)).to.include({ kind: 'Status' });
      expect(text).not.to.include(secret);
    }
    expect((await post('json', 'text/plain', secret)).text).not.to.include(secret);
    expect(service.logLines.join('')).not.to.include(secret);
  });
});
