import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { indentJson, type JsonText, jsonText, sendJsonText } from '@atrium/http/json-answers.ts';
import { expect } from 'chai';
import Koa, { type Context } from 'koa';
import { describe, it } from 'mocha';

const koa = new Koa();

function answer(text: JsonText, url: string): Context {
  const request = Object.assign(new IncomingMessage(new Socket()), { url });
  const ctx = koa.createContext(request, new ServerResponse(request)) as Context;
  sendJsonText(ctx, text);
  indentJson(ctx);
  return ctx;
}

describe('a prepared JSON text', () => {
  const value = { items: Array.from({ length: 500 }, (_, index) => ({ index })) };

  it('S10 is indented once, however often it is asked for', () => {
    const text = jsonText(value);
    const [plain, first, second] = ['/', '/?pretty=true', '/?a=b&pretty=true'].map((url) => answer(text, url));

    expect(plain?.body).to.equal(text.bytes);
    expect(String(first?.body)).to.equal(`${JSON.stringify(value, null, 2)}\n`);
    expect(Buffer.isBuffer(first?.body)).to.equal(true);
    expect(second?.body).to.equal(first?.body);
    expect(first?.response.get('ETag')).to.equal(text.etag.replace(/"$/, '.pretty"'));
    expect(first?.response.get('Content-Type')).to.equal('application/json; charset=utf-8');
  });

  it('S10 is indented by its own value, also where it is short', () => {
    const [short, other] = [jsonText({ a: 1 }), jsonText({ b: 2 })];

    expect(String(answer(short, '/?pretty=true').body)).to.equal('{\n  "a": 1\n}\n');
    expect(String(answer(other, '/?pretty=true').body)).to.equal('{\n  "b": 2\n}\n');
    expect(answer(short, '/?pretty=false').body).to.equal('{"a":1}');
  });
});
