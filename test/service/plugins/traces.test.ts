import { createServer, type Server } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { listen, stopListening } from '../../support/listening.ts';
import { type PluginSuite, startPluginSuite } from './support.ts';

const traceID = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanID = '00f067aa0ba902b7';
const traceparent = `00-${traceID}-${spanID}-01`;
const page = 'https://front.example';

const span = z.object({ traceId: z.string(), spanId: z.string(), parentSpanId: z.string().optional(), name: z.string() });
const exported = z.object({ resourceSpans: z.array(z.object({ scopeSpans: z.array(z.object({ spans: z.array(span) })) })) });

describe('traces of requests to plugins', () => {
  let suite: PluginSuite;

  const begin = async (config: Record<string, unknown>) => {
    suite = await startPluginSuite({ config: { server: { corsOrigins: [page] }, ...config } });
    const service = suite.reference();
    await suite.plugin('shop', { backend: { service }, proxy: [{ alias: 'plain', service }] });
  };
  const send = async (path: string, headers: Record<string, string>) => {
    const response = await suite.server.request(path, { token: await suite.server.token('alice'), headers });
    expect(response.status, await response.text()).to.equal(200);
  };
  const received = () => suite.service.received.map(({ headers: { traceparent, tracestate } }) => ({ traceparent, tracestate }));

  describe('without a collector', () => {
    before(() => begin({}));
    after(() => suite.stop());
    afterEach(() => suite.service.received.splice(0));

    it('continue at the Service, for requests of pages and for files', async () => {
      await send('/api/proxy/plugin/shop/plain/items', { traceparent, tracestate: 'vendor=a, other@b=c' });
      await send('/plugins/shop/index.json', { traceparent });

      expect(received()).to.deep.equal([
        { traceparent, tracestate: 'vendor=a,other@b=c' },
        { traceparent, tracestate: undefined },
      ]);
    });

    it('are not passed on if they are not valid', async () => {
      await send('/api/proxy/plugin/shop/plain/items', { traceparent: traceID, tracestate: 'vendor=a' });

      expect(received()).to.deep.equal([{ traceparent: undefined, tracestate: undefined }]);
    });

    it('may begin in pages of listed origins', async () => {
      const headers = { Origin: page, 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'traceparent,tracestate' };
      const preflight = await suite.server.request('/api/proxy/plugin/shop/plain/items', { method: 'OPTIONS', headers });

      const allowed = (preflight.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(', ');
      expect(allowed).to.include.members(['traceparent', 'tracestate']);
    });
  });

  describe('with a collector', () => {
    let collector: Server;
    const bodies: unknown[] = [];
    const ofTrace = () =>
      bodies
        .flatMap((body) => exported.parse(body).resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans)))
        .filter(({ traceId }) => traceId === traceID);

    before(async () => {
      collector = createServer(async (request, response) => {
        bodies.push(await json(request));
        response.end('{}');
      });
      await begin({ tracing: { otlpEndpoint: `http://127.0.0.1:${await listen(collector)}/` } });
    });
    after(async () => {
      await suite.stop();
      await stopListening(collector);
    });

    it('have a span of each call to a Service', async () => {
      await send('/api/proxy/plugin/shop/plain/items', { traceparent });
      await send('/plugins/shop/index.json', { traceparent });
      const [proxied, asset] = received();

      const names = ['plugin proxy', 'GetThroughPlugin', 'plugin asset', 'GetPluginAsset'];
      const spans = await eventually(ofTrace, (all) => names.every((name) => all.some((one) => one.name === name)));
      for (const [name, operation, sent] of [
        ['plugin proxy', 'GetThroughPlugin', proxied],
        ['plugin asset', 'GetPluginAsset', asset],
      ] as const) {
        const call = spans.find((one) => one.name === name);
        expect(sent?.traceparent, name).to.equal(`00-${traceID}-${call?.spanId}-01`);
        expect(spans.find(({ spanId }) => spanId === call?.parentSpanId)?.name, name).to.equal(operation);
      }
    });
  });
});
