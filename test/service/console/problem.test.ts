import { expect } from 'chai';
import { statusBody } from '../../../packages/kubernetes/test/fake-api-server.ts';
import { isFinal } from '../../../web/src/api/lost.ts';
import { Problem, problemOf } from '../../../web/src/api/problem.ts';

const html = '<html><head><title>A page</title></head><body><h1>A page</h1></body></html>';
const page = (status: number, body = html, type = 'text/html') => new Response(body, { status, headers: { 'content-type': type } });

describe('a failed answer in the console', () => {
  for (const status of [200, 400, 401, 403, 404, 409, 410, 422])
    it(`is an outage if a page of ${status} stands in place of a Status`, async () => {
      for (const answer of [page(status), page(status, ''), page(status, '{"error":"no route"}', 'application/json')]) {
        const problem = await problemOf(answer);

        expect(problem).to.include({ status: 503, reason: 'ServiceUnavailable' });
        expect(problem.message).to.equal(`A proxy answered in place of the service (HTTP ${status}). Try again.`);
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
