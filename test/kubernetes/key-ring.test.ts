import { expect } from 'chai';
import { z } from 'zod';
import { createLog } from '../../src/http/log.ts';
import { Metrics } from '../../src/http/metrics.ts';
import { StatusError } from '../../src/http/status.ts';
import { ApiServer } from '../../src/kubernetes/api-server.ts';
import { KeyRing } from '../../src/kubernetes/key-ring.ts';
import { apiServer } from '../support/api-server.ts';
import { ClusterAdmin, eventually, serviceNamespace } from '../support/cluster-admin.ts';

const path = `/api/v1/namespaces/${serviceNamespace}/secrets`;
const secretBody = z.object({ data: z.object({ 'seal.jwks': z.string() }) });
const jwks = z.object({ keys: z.array(z.object({ kty: z.string(), kid: z.string(), k: z.string() })) });

describe('the key ring', () => {
  let cluster: Awaited<ReturnType<typeof apiServer>>;
  let kubernetes: ClusterAdmin;
  let service: ApiServer;
  let metrics: Metrics;
  let time = 0;
  const rings: KeyRing[] = [];
  const logLines: string[] = [];

  const ring = (secretName = 'atrium-keys') => {
    const log = createLog({ level: 'info', format: 'json' }, { write: (line) => logLines.push(line) });
    const one = new KeyRing({ client: service.asService, namespace: serviceNamespace, secretName, log, clock: () => time });
    rings.push(one);
    one.start();
    return one;
  };
  const ready = async (one: KeyRing) => {
    await eventually(
      () => one.failure() ?? 'ready',
      (failure) => failure === 'ready',
    );
    return one.sealFor('test');
  };
  const stored = async () => {
    const { body } = await kubernetes.call('GET', `${path}/atrium-keys`);
    return jwks.parse(JSON.parse(Buffer.from(secretBody.parse(body).data['seal.jwks'], 'base64').toString())).keys;
  };
  const store = (keys: unknown) =>
    kubernetes.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'atrium-keys', namespace: serviceNamespace },
      data: { 'seal.jwks': Buffer.from(JSON.stringify({ keys })).toString('base64') },
    });
  const readings = async () => {
    const { values } = await metrics.upstream.get();
    return (
      values.find(({ metricName, labels }) => metricName?.endsWith('_count') && labels.call === 'get secrets' && labels.outcome === 200)
        ?.value ?? 0
    );
  };

  before(async () => {
    cluster = await apiServer();
    kubernetes = new ClusterAdmin(cluster, await cluster.token('admin'));
    await kubernetes.install();
    const token = await kubernetes.serviceToken();
    metrics = new Metrics();
    service = new ApiServer({
      connection: {
        server: cluster.url,
        tls: { ca: cluster.certificateAuthority },
        namespace: serviceNamespace,
        authorization: async () => `Bearer ${token}`,
        discardAuthorization() {},
      },
      requestTimeoutMs: 5000,
      metrics,
    });
  });
  after(async () => {
    for (const one of rings) one.stop();
    await service.close();
    await kubernetes.close();
    await cluster.stop();
  });

  it('has no key before it has read one, and says so', async () => {
    const unread = new KeyRing({
      client: service.asService,
      namespace: serviceNamespace,
      secretName: 'none',
      log: createLog({ level: 'silent', format: 'json' }),
    });

    expect(unread.failure()).to.be.a('string');
    expect(() => unread.sealFor('test').seal('x'))
      .to.throw(StatusError)
      .with.nested.property('status.code', 503);
  });

  it('is made by one of the replicas that start together; all of them open what any of them seals', async () => {
    const seals = await Promise.all([ring(), ring(), ring()].map(ready));

    expect(await stored()).to.have.length(1);
    for (const one of seals) {
      const sealed = one.seal('hello');
      for (const other of seals) expect(await other.open(sealed)).to.equal('hello');
    }
  });

  it('outlives the replicas', async () => {
    const [first] = rings;
    const sealed = first?.sealFor('test').seal('before') ?? '';

    const seal = await ready(ring());

    expect(await seal.open(sealed)).to.equal('before');
  });

  it('keeps purposes apart', async () => {
    const one = ring();
    const sealed = (await ready(one)).seal('x');

    expect(await one.sealFor('other').open(sealed)).to.equal(undefined);
  });

  it('reads again for a key that it does not know, but not for every name that somebody makes up', async () => {
    const old = await ready(ring());
    const before = old.seal('old');
    const [first] = await stored();
    const second = { kty: 'oct', kid: 'second', k: Buffer.alloc(32, 7).toString('base64url'), use: 'enc' };
    await store([second, first]);
    const rotated = (await ready(ring())).seal('new');
    expect(rotated).to.match(/^second\./);

    time += 10_000;
    expect(await old.open(rotated)).to.equal('new');
    expect(await old.open(before)).to.equal('old');
    expect(old.seal('x')).to.match(/^second\./);

    time += 10_000;
    const count = await readings();
    for (let number = 0; number < 50; number += 1) expect(await old.open(`made-up-${number}.AAAA`)).to.equal(undefined);
    expect(await readings()).to.equal(count + 1);
  });

  it('keeps the keys it has when the Secret becomes unreadable, and says what is wrong', async () => {
    const one = ring();
    const seal = await ready(one);
    const sealed = seal.seal('kept');
    await store('nonsense');

    time += 10_000;
    expect(await seal.open('unknown.AAAA')).to.equal(undefined);

    expect(await seal.open(sealed)).to.equal('kept');
    const fresh = ring();
    await eventually(
      () => fresh.failure() ?? '',
      (failure) => failure.includes('seal.jwks'),
    );
    expect(logLines.join('')).to.contain('the key ring cannot be read').and.not.to.contain(Buffer.alloc(32, 7).toString('base64url'));
  });

  it('may not look at any other Secret', async () => {
    const other = ring('other-secret');

    await eventually(
      () => other.failure() ?? '',
      (failure) => failure === '403 Forbidden',
    );
  });
});
