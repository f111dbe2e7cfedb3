import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { listen, stopListening } from '../../support/listening.ts';
import { authorize, Browser, loginInfoOf } from '../login/provider/browser.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { LoginCluster, type Service } from '../login/support.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';

const traceID = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanID = '00f067aa0ba902b7';
const traceparent = `00-${traceID}-${spanID}-01`;

/** ExportTraceServiceRequest (opentelemetry-proto, collector/trace/v1), as far as it is read here. */
const exported = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(z.object({ key: z.string(), value: z.object({ stringValue: z.string() }) })) }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string().regex(/^[0-9a-f]{32}$/),
              spanId: z.string().regex(/^[0-9a-f]{16}$/),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.number(),
              startTimeUnixNano: z.string().regex(/^\d{19}$/),
              endTimeUnixNano: z.string().regex(/^\d{19}$/),
              attributes: z.array(z.object({ key: z.string(), value: z.record(z.string(), z.string()) })),
            }),
          ),
        }),
      ),
    }),
  ),
});

describe('traces of requests', () => {
  const between = new ApiServerBetween();
  let provider: TestProvider;
  let cluster: LoginCluster;
  /** Headers that the API server has received. */
  let received: IncomingHttpHeaders[] = [];
  const start = (config: object = {}) =>
    cluster.service({ provider, between: between.start, config: { login: { tokenStorage: ['cookie', 'local'] }, ...config } });

  before(async () => {
    provider = await TestProvider.start();
    cluster = await LoginCluster.start();
    between.onForward = ({ headers }) => received.push(headers);
  });

  after(async () => {
    await cluster.stop();
    await provider.stop();
  });

  /** Logs in, with these headers in the callback only. */
  async function logIn(service: Service, headers: Record<string, string>) {
    const browser = new Browser(service.url);
    const answer = await authorize(loginInfoOf(await browser.login('v2', { token_storage: 'local' })).auth_url);
    received = [];
    provider.forgetRequests();
    const { status, headers: answered } = await browser.request(`/api/v2/token/callback?${new URLSearchParams(answer)}`, { headers });
    expect(status).to.equal(200);
    return { answer, requestID: answered.get('x-request-id') ?? '' };
  }

  const valuesOf = (all: readonly IncomingHttpHeaders[], name: string) => [...new Set(all.flatMap((one) => one[name] ?? []))];
  const ofIssuer = (name: string) =>
    valuesOf(
      provider.requests.map(({ headers }) => headers),
      name,
    );
  /** The access log has the line a moment after the answer. */
  const accessLine = (service: Service, requestID: string) =>
    eventually(
      async () => lineOf(service.logLines, `"requestId":"${requestID}"`),
      (line) => line.msg === 'request',
    );
  const lineOf = (lines: readonly string[], word: string) => JSON.parse(lines.findLast((line) => line.includes(word)) ?? '{}');

  describe('without a collector', () => {
    let service: Service;

    before(async () => {
      service = await start();
    });

    it('are passed on to the API server and the issuer, and named in the log and the audit trail', async () => {
      const { requestID } = await logIn(service, { traceparent, tracestate: 'vendor=a, other@b=c' });

      expect(valuesOf(received, 'traceparent')).to.deep.equal([traceparent]);
      expect(valuesOf(received, 'tracestate')).to.deep.equal(['vendor=a,other@b=c']);
      expect(ofIssuer('traceparent')).to.deep.equal([traceparent]);
      expect(await accessLine(service, requestID)).to.include({ traceId: traceID });
      expect(lineOf(service.auditLines, '"LoginSucceeded"')).to.include({ traceId: traceID });
    });

    it('are passed on by /api/kubernetes', async () => {
      const headers = { authorization: `Bearer ${await cluster.kubernetes.serviceToken()}`, traceparent, tracestate: 'vendor=a' };
      const { status } = await fetch(`${service.url}/api/kubernetes/apis/between/v1/things`, { headers });

      expect(status).to.equal(200);
      expect(between.last.headers).to.include({ traceparent, tracestate: 'vendor=a' });
    });

    it('are ignored if they are not valid', async () => {
      const invalid = [
        traceparent.toUpperCase(),
        `ff-${traceID}-${spanID}-01`,
        `00-${'0'.repeat(32)}-${spanID}-01`,
        `00-${traceID}-${'0'.repeat(16)}-01`,
        `${traceparent}-more`,
        `${traceparent}, ${traceparent}`,
        traceID,
      ];
      for (const text of invalid) {
        const { requestID } = await logIn(service, { traceparent: text, tracestate: 'vendor=a' });

        expect(valuesOf(received, 'traceparent'), text).to.deep.equal([]);
        expect(valuesOf(received, 'tracestate'), text).to.deep.equal([]);
        expect(await accessLine(service, requestID), text).not.to.have.property('traceId');
      }
    });

    it('continue from a later version, and without a state that is not valid', async () => {
      await logIn(service, { traceparent: `01-${traceID}-${spanID}-01-what-comes`, tracestate: 'no value' });

      expect(valuesOf(received, 'traceparent')).to.deep.equal([traceparent]);
      expect(valuesOf(received, 'tracestate')).to.deep.equal([]);
    });
  });

  describe('with a collector', () => {
    let collector: Server;
    let service: Service;
    let bodies: unknown[] = [];
    const spans = () =>
      bodies.flatMap((body) => exported.parse(body).resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans)));

    beforeEach(async () => {
      bodies = [];
      collector = createServer(async (request, response) => {
        if (request.url === '/v1/traces' && request.headers['content-type'] === 'application/json') bodies.push(await json(request));
        response.end('{}');
      });
      const port = await listen(collector);
      service = await start({ tracing: { otlpEndpoint: `http://127.0.0.1:${port}/` } });
    });

    afterEach(async () => {
      await service.stop();
      await stopListening(collector);
    });

    it('have a span of the request, and below it spans of the calls to the API server and the issuer', async () => {
      const { answer, requestID } = await logIn(service, { traceparent });
      // The stop sends the spans that wait.
      await service.stop();

      const trace = spans().filter(({ traceId }) => traceId === traceID);
      const [root] = trace.filter(({ kind }) => kind === 2);
      const calls = trace.filter(({ kind }) => kind === 3);
      expect(root).to.include({ name: 'HandleCallbackV2', parentSpanId: spanID });
      expect(new Set(calls.map(({ parentSpanId }) => parentSpanId))).to.deep.equal(new Set([root?.spanId]));
      expect(calls.map(({ name }) => name)).to.include.members(['issuer oidc', 'patch users/status']);
      const written = calls.find(({ name }) => name === 'patch users/status');
      expect(valuesOf(received, 'traceparent')).to.include(`00-${traceID}-${written?.spanId}-01`);
      expect(await accessLine(service, requestID)).to.include({ traceId: traceID });

      const text = JSON.stringify(bodies);
      for (const secret of [answer.get('code'), answer.get('state'), 'jane', 'Bearer', 'token?', '/api/v'])
        expect(text).not.to.contain(String(secret));
      const attributes = ['http.request.method', 'http.response.status_code', 'error.type', 'server.address'];
      expect(attributes).to.include.members(trace.flatMap((span) => span.attributes.map(({ key }) => key)));
    });

    it('begin here without a valid traceparent, and are not recorded if its flag is off', async () => {
      const { requestID } = await logIn(service, { traceparent: 'nonsense', tracestate: 'vendor=a' });
      const { traceId } = await accessLine(service, requestID);
      expect(valuesOf(received, 'tracestate')).to.deep.equal([]);
      await logIn(service, { traceparent: `00-${traceID}-${spanID}-00` });
      expect(valuesOf(received, 'traceparent')[0]).to.match(new RegExp(`^00-${traceID}-[0-9a-f]{16}-00$`));
      await service.stop();

      expect(traceId).to.match(/^[0-9a-f]{32}$/);
      const names = spans().map((span) => [span.traceId, span.name]);
      expect(names).to.deep.include([traceId, 'HandleCallbackV2']);
      expect(names.map(([id]) => id)).not.to.include(traceID);
    });

    it('fail no request if the collector does not answer', async () => {
      await stopListening(collector);
      await logIn(service, { traceparent });
      await service.stop();

      expect(lineOf(service.logLines, 'export of spans failed')).to.have.property('level', 'warn');
    });
  });
});
