import { expect } from 'chai';
import { statusBody } from '../../../packages/kubernetes/test/fake-api-server.ts';
import { isFinal } from '../../../web/src/api/lost.ts';
import { asProblem, Problem, problemOf } from '../../../web/src/api/problem.ts';

const html = '<html><head><title>A page</title></head><body><h1>A page</h1></body></html>';
const page = (status: number, body = html, type = 'text/html') => new Response(body, { status, headers: { 'content-type': type } });

describe('a failed answer in the console', () => {
  for (const status of [200, 400, 401, 403, 404, 409, 410, 422])
    it(`is an outage if a page of ${status} stands in place of a Status`, async () => {
      for (const answer of [page(status), page(status, ''), page(status, '{"error":"no route"}', 'application/json')]) {
        const problem = await problemOf(answer);

        expect(problem).to.include({ status: 503, reason: 'ServiceUnavailable' });
        expect(problem.message).to.equal('problem.page');
        expect(problem.isOutage).to.equal(true);
        expect([problem.isUnknownPath, problem.isGone('a'), isFinal(problem)]).to.deep.equal([false, false, false]);
      }
    });

  it('keeps the code of a page that is an outage anyway, or asks for patience', async () => {
    for (const status of [429, 500, 502, 503, 504]) {
      const problem = await problemOf(page(status));

      expect(problem.status).to.equal(status);
      expect(isFinal(problem), String(status)).to.equal(false);
    }
  });

  it('is an outage if the service or the API server is overloaded or does not answer, and no refusal is one', async () => {
    const outages: number[] = [];
    for (const code of [400, 401, 403, 404, 409, 410, 422, 429, 500, 502, 503, 504])
      if ((await problemOf(Response.json(statusBody(code, 'Reason', 'message'), { status: code }))).isOutage) outages.push(code);

    expect(outages).to.deep.equal([429, 502, 503, 504]);
  });

  it('waits for the seconds that a header names', async () => {
    const headers = { 'content-type': 'text/plain', 'retry-after': '7' };

    expect((await problemOf(new Response('busy', { status: 503, headers }))).retryAfter).to.equal(7);
  });

  for (const message of [
    'Failed to fetch',
    'Failed to fetch dynamically imported module: https://atrium.example.com/assets/list.js',
    'NetworkError when attempting to fetch resource.',
    'error loading dynamically imported module: https://atrium.example.com/assets/list.js',
    'Load failed',
    'Importing a module script failed.',
    'network error',
  ])
    it(`never shows words of a browser: ${message}`, () => {
      const problem = asProblem(new TypeError(message));

      expect([problem.isOutage, problem.message]).to.deep.equal([true, 'state.unreachable']);
    });

  it('takes no mistake of code for an outage', () => {
    const mistakes = [
      new TypeError("Failed to set the 'innerHTML' property on 'Element': This document requires 'TrustedHTML' assignment."),
      new TypeError("Cannot read properties of undefined (reading 'name')"),
      new TypeError('//example.com/fetch is no path of this service'),
      new DOMException("'a b' is not a valid selector", 'SyntaxError'),
      new SyntaxError("Unexpected token 'export'"),
      new Error('thrown in mount'),
    ];

    expect(mistakes.map((error) => asProblem(error).isOutage)).to.deep.equal(mistakes.map(() => false));
    expect(mistakes.map((error) => asProblem(error).message)).to.deep.equal(mistakes.map(({ message }) => message));
  });

  it('takes the plain text for an unknown path as no proof', async () => {
    const text = page(404, '404 page not found\n', 'text/plain; charset=utf-8');
    const told = {
      ...statusBody(404, 'NotFound', 'no Status'),
      details: { causes: [{ reason: 'UnexpectedServerResponse', message: '' }] },
    };
    for (const answer of [text, Response.json(told, { status: 404 })]) {
      const problem = await problemOf(answer);

      expect(problem.status).to.equal(404);
      expect([problem.isUnknownPath, problem.isGone('a'), isFinal(problem)]).to.deep.equal([false, false, false]);
    }
  });

  it('takes a 401 that quotes a page as no end of the session', async () => {
    const told = {
      ...statusBody(401, 'Unauthorized', 'no Status'),
      details: { causes: [{ reason: 'UnexpectedServerResponse', message: '' }] },
    };

    expect((await problemOf(Response.json(told, { status: 401 }))).status).to.equal(503);
  });

  it('says that an object is gone only by a Status that names it', async () => {
    const about = (details: object) => problemOf(Response.json({ ...statusBody(404, 'NotFound', 'missing'), details }, { status: 404 }));
    const [object, namespace, path] = [
      await about({ name: 'a', kind: 'pods' }),
      await about({ name: 'shop', kind: 'namespaces' }),
      await about({}),
    ];

    expect([object.isGone('a'), object.isGone('b'), object.isUnknownPath]).to.deep.equal([true, false, false]);
    expect([namespace.isGone('a'), namespace.isGone('shop'), namespace.isUnknownPath]).to.deep.equal([false, true, false]);
    expect([path.isGone('a'), path.isUnknownPath, isFinal(path)]).to.deep.equal([false, true, true]);
    expect(new Problem(403, { reason: 'Forbidden', details: { name: 'a' } }).isGone('a')).to.equal(false);
  });
});
