import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { expect } from 'chai';
import { loopbackCertificates } from '../../../test/cluster/certificates.ts';
import { bearer } from './fake-api-server.ts';

describe('a certificate of the service account', () => {
  let upstream: Server;
  let client: KubernetesClient;
  /** Records of requests: whether a certificate was presented, and the bearer token. */
  const seen: [boolean, string | undefined][] = [];

  before(async () => {
    const { authority, serving } = await loopbackCertificates();
    const pair = { key: serving.key, cert: serving.certificate };
    upstream = createServer({ ...pair, ca: authority.certificate, requestCert: true, rejectUnauthorized: false }, (request, response) => {
      seen.push([Object.keys((request.socket as TLSSocket).getPeerCertificate()).length > 0, request.headers.authorization]);
      response.setHeader('Content-Type', 'application/json').end('{}');
    });
    upstream.listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    client = new KubernetesClient({
      connection: {
        server: `https://127.0.0.1:${(upstream.address() as AddressInfo).port}`,
        tls: { ca: authority.certificate, ...pair },
        namespace: undefined,
        authorization: async () => undefined,
        discardAuthorization() {},
      },
      requestTimeoutMs: 60_000,
      metrics: new Metrics(),
    });
  });
  after(async () => {
    await client?.close();
    upstream?.close();
  });

  it('AUZ-01 is not presented with the token of a caller: the API server would take the caller for the service', async () => {
    const { signal } = new AbortController();
    const call = { call: 'get users', method: 'GET' as const, path: '/apis/auth.platform.io/v1/users', signal };
    await client.asService.request(call);
    await client.asCaller(bearer('jane')).request(call);
    await client.asCaller({ ...bearer('jane'), actAs: { name: 'jane', uid: '', groups: [], extra: {} } }).request(call);
    const passed = { method: 'GET', path: call.path, search: '', headers: {}, isLong: false, signal };
    (await client.passageOf(bearer('jane')).answer(passed)).body.resume();
    const refused = await client.passageOf(bearer('jane')).upgrade({ ...passed, isLong: true }, 'websocket');
    if (refused.socket === undefined) refused.body.resume();

    const theirs = [false, 'Bearer token-of-jane'];
    expect(seen).to.deep.equal([[true, undefined], theirs, [true, undefined], theirs, theirs]);
  });
});
