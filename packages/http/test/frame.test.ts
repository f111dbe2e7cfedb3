import { expect } from 'chai';
import { eventually } from '../../../test/support/cluster-admin.ts';
import { forSuite } from '../../../test/support/for-suite.ts';
import { rawGet } from '../../../test/support/raw-http.ts';
import { startBareService } from './bare-service.ts';

import { operations, post, startFrame, statusOf } from './frame-operations.ts';

describe('the frame around every request', () => {
  const service = forSuite(startFrame);

  it('gives every answer an id, and takes a well-formed one from the caller', async () => {
    const own = await fetch(`${service.url}/api/tagged`);
    const taken = await fetch(`${service.url}/api/nothing`, { headers: { 'X-Request-Id': 'trace-1.a_B' } });
    const refused = await fetch(`${service.url}/api/tagged`, { headers: { 'X-Request-Id': 'a b' } });

    expect(own.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/);
    expect(taken.headers.get('x-request-id')).to.equal('trace-1.a_B');
    expect(refused.headers.get('x-request-id')).not.to.equal('a b');
    for (const { headers } of [own, taken])
      expect([headers.get('x-content-type-options'), headers.get('referrer-policy'), headers.get('cache-control')]).to.deep.equal([
        'nosniff',
        'no-referrer',
        'no-store',
      ]);
  });

  it('answers an unknown path of the API with 404, never with a page', async () => {
    for (const path of ['/api', '/api/x', '/apis/x', '/auth/x', '/openapi/x', '/plugins/x/y']) {
      expect((await statusOf(await fetch(`${service.url}${path}`))).reason, path).to.equal('NotFound');
    }
    expect(await (await fetch(`${service.url}/apiary`)).text()).to.equal('page');
  });

  it('answers another method with 405 and Allow, and OPTIONS with 204', async () => {
    const wrong = await fetch(`${service.url}/api/echo`, { method: 'DELETE' });
    const options = await fetch(`${service.url}/api/echo`, { method: 'OPTIONS' });

    expect(await statusOf(wrong)).to.include({ code: 405, reason: 'MethodNotAllowed', message: 'DELETE is not allowed on this path' });
    expect(wrong.headers.get('allow')).to.equal('GET, HEAD, OPTIONS, POST');
    expect([options.status, options.headers.get('allow')]).to.deep.equal([204, 'GET, HEAD, OPTIONS, POST']);
    expect((await rawGet(service.port, '/api/echo', 'TRACE')).status).to.equal(405);
  });

  it('answers HEAD as GET, without a body', async () => {
    const head = await fetch(`${service.url}/api/tagged`, { method: 'HEAD' });

    expect([head.status, head.headers.get('etag'), await head.text()]).to.deep.equal([200, '"1"', '']);
  });

  it('answers 304 to an equal If-None-Match', async () => {
    const response = await fetch(`${service.url}/api/tagged`, { headers: { 'If-None-Match': '"1"' } });

    expect([response.status, await response.text()]).to.deep.equal([304, '']);
  });

  it('indents with pretty=true, as another representation', async () => {
    const response = await fetch(`${service.url}/api/tagged?pretty=true`);

    expect(await response.text()).to.equal('{\n  "a": 1\n}\n');
    expect(response.headers.get('etag')).to.equal('"1.pretty"');
  });

  it('refuses a parameter that is given twice, names the wrong ones and the unknown ones', async () => {
    const twice = await statusOf(await post(service, '{"name":"a"}', undefined, '?limit=1&limit=2'));
    const wrong = await statusOf(await post(service, '{"name":"a"}', undefined, '?limit=x'));
    const fine = await post(service, '{"name":"a"}', undefined, '?tag=a&tag=b&pretty=false');
    const unknown = await statusOf(await post(service, '{"name":"a"}', undefined, '?tag=a&tog=1&tog=2'));

    expect(twice.details).to.deep.equal({ causes: [{ reason: 'FieldValueDuplicate', message: 'may be given only once', field: 'limit' }] });
    expect(wrong).to.have.nested.property('details.causes[0].field', 'limit');
    expect(unknown.message).to.equal('tog: is not a parameter of this operation; did you mean tag?');
    expect(await fine.json()).to.deep.equal({ query: { tag: ['a', 'b'] }, body: { name: 'a' } });
  });

  it('refuses other media types and any Content-Encoding with 415', async () => {
    for (const headers of [{}, { 'content-type': 'text/plain' }, { 'content-type': 'application/json', 'content-encoding': 'gzip' }]) {
      expect((await statusOf(await post(service, '{"name":"a"}', headers))).code, JSON.stringify(headers)).to.equal(415);
    }
    expect((await post(service, '{"name":"a"}', { 'content-type': 'Application/JSON; charset=utf-8' })).status).to.equal(200);
  });

  it('names every field of a body that does not fit', async () => {
    const body = await statusOf(await post(service, '{"count":"x"}'));

    expect(body.details).to.have.property('causes').that.has.length(2);
    expect(body).to.have.nested.property('details.causes[0].reason', 'FieldValueRequired');
    expect(body).to.have.nested.property('details.causes[1].field', 'count');
  });

  it('refuses every Authorization that is not one bearer token, where a token is optional too', async () => {
    const refused = ['Bearer', 'Bearer ', 'Bearer a b', 'Basic dTpw', 'good', 'Bearer bad', 'Bearer good, Bearer good'];
    for (const authorization of refused) {
      const response = await fetch(`${service.url}/api/echo`, { headers: { authorization } });
      expect((await statusOf(response)).code, authorization).to.equal(401);
      expect(response.headers.get('www-authenticate'), authorization).to.equal('Bearer realm="atrium", error="invalid_token"');
    }
    expect(
      (await rawGet(service.port, '/api/echo', 'GET', 'Authorization: Bearer good\r\nAuthorization: Bearer good\r\n')).status,
    ).to.equal(401);
    for (const authorization of ['Bearer good', 'bearer good', 'BEARER  good']) {
      expect(await (await fetch(`${service.url}/api/echo`, { headers: { authorization } })).json()).to.deep.equal({ name: 'jane' });
    }
    expect(await (await fetch(`${service.url}/api/echo`)).json()).to.deep.equal({ name: 'anonymous' });
  });

  it('answers a defect without details, and logs it once', async () => {
    const before = service.logLines.length;
    const response = await fetch(`${service.url}/api/broken`, { headers: { 'X-Request-Id': 'defect' } });
    const text = JSON.stringify(await statusOf(response));

    expect(response.status).to.equal(500);
    expect(text).not.to.match(/hunter2|secret|path|at /);
    expect(service.logLines.slice(before).filter((line) => line.includes('request failed') && line.includes('defect'))).to.have.length(1);
  });

  it('lets only listed origins read answers', async () => {
    const listed = await fetch(`${service.url}/api/tagged`, { headers: { origin: 'https://console.example.com' } });
    const preflight = await fetch(`${service.url}/api/echo`, {
      method: 'OPTIONS',
      headers: { origin: 'https://console.example.com', 'access-control-request-method': 'POST' },
    });

    expect(listed.headers.get('access-control-allow-origin')).to.equal('https://console.example.com');
    expect(preflight.headers.get('access-control-allow-methods')).to.contain('POST');
    for (const origin of ['https://evil.example', 'null', 'https://sub.console.example.com', 'http://console.example.com']) {
      expect(
        (await fetch(`${service.url}/api/tagged`, { headers: { origin } })).headers.get('access-control-allow-origin'),
        origin,
      ).to.equal(null);
    }
  });

  it('LEAK-04 logs one JSON line for a request, with nothing secret in it, whatever its headers say', async () => {
    const before = service.logLines.length;
    await fetch(`${service.url}/api/echo?code=canary-code&refresh_token=canary-refresh`, {
      headers: {
        authorization: 'Bearer canary-token',
        cookie: 'session=canary-cookie',
        'user-agent': 'a"\\nlevel=error msg=x',
        'X-Request-Id': 'logged',
      },
    });
    const lines = await eventually(
      () => service.logLines.slice(before).filter((line) => line.includes('"logged"')),
      (found) => found.length > 0,
    );

    expect(lines).to.have.length(1);
    expect(JSON.parse(lines[0] ?? '')).to.include({ method: 'GET', path: '/api/echo', code: 401, operation: 'Read', source: '127.0.0.1' });
    expect(service.logLines.join('')).not.to.contain('canary');
  });

  it('LEAK-04 adds no metric series for 1,000 unknown paths', async () => {
    const series = async () =>
      (await service.metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('atrium_http_request_duration_seconds_count'))
        .length;
    await fetch(`${service.url}/api/random`);
    const before = await series();
    for (let batch = 0; batch < 500; batch++)
      await Promise.all([0, 1].map((index) => fetch(`${service.url}/api/random-${batch}-${index}`)));

    expect(await series()).to.equal(before);
  });

  it('trusts X-Forwarded-For up to the last trusted proxy', async () => {
    const before = service.logLines.length;
    await fetch(`${service.url}/api/tagged`, { headers: { 'x-forwarded-for': '1.1.1.1, 203.0.113.7', 'X-Request-Id': 'forwarded' } });
    const [line = ''] = await eventually(
      () => service.logLines.slice(before).filter((text) => text.includes('"forwarded"')),
      (found) => found.length > 0,
    );

    expect(JSON.parse(line)).to.include({ source: '203.0.113.7' });
  });

  it('lives below the base path of the public URL', async () => {
    const mounted = await startBareService(operations, { basePath: '/console' });
    try {
      expect((await fetch(`${mounted.url}/console/api/tagged`)).status).to.equal(200);
      expect((await fetch(`${mounted.url}/api/tagged`)).status).to.equal(404);
      expect((await fetch(`${mounted.url}/consoles/api/tagged`)).status).to.equal(404);
    } finally {
      await mounted.stop();
    }
  });
});
