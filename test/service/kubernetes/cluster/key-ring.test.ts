import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { callTimes } from '@atrium/kubernetes/call-times.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { CompactSign, compactVerify, importJWK, type JWK } from 'jose';
import { z } from 'zod';
import { KeyRing } from '../../../../src/keys/key-ring.ts';
import { apiServer } from '../../../support/api-server.ts';
import { type ClusterAdmin, eventually, type Manifest, serviceNamespace } from '../../../support/cluster-admin.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { connectionWith, install } from '../../../support/installed-cluster.ts';

const path = `/api/v1/namespaces/${serviceNamespace}/secrets`;
const secretBody = z.object({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()).optional() }),
  data: z.record(z.string(), z.string()),
});
const jwks = z.object({ keys: z.array(z.object({ kty: z.string(), kid: z.string(), k: z.string() })) });

/** Lets the service update only the Secret of the values, like the chart. */
function mayUpdate(resourceNames: readonly string[]): Manifest[] {
  const apiGroup = 'rbac.authorization.k8s.io';
  const named = { apiVersion: `${apiGroup}/v1`, metadata: { name: 'key-rings', namespace: serviceNamespace } };
  return [
    { ...named, kind: 'Role', rules: [{ apiGroups: [''], resources: ['secrets'], resourceNames, verbs: ['update'] }] },
    {
      ...named,
      kind: 'RoleBinding',
      roleRef: { apiGroup, kind: 'Role', name: 'key-rings' },
      subjects: [{ kind: 'ServiceAccount', name: 'atrium', namespace: serviceNamespace }],
    },
  ];
}

describe('the key ring', () => {
  const cluster = forSuite(() => apiServer());
  let kubernetes: ClusterAdmin;
  let service: KubernetesClient;
  let metrics: Metrics;
  let time = 0;
  const rings: KeyRing[] = [];
  const logLines: string[] = [];

  const ring = (secretName = 'atrium-keys', namespace = serviceNamespace) => {
    const log = createLog({ level: 'info', format: 'json' }, { write: (line) => logLines.push(line) });
    const one = new KeyRing({ client: service.asService, namespace, secretName, log, clock: () => time });
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
  const secret = async (name = 'atrium-keys') => secretBody.parse((await kubernetes.call('GET', `${path}/${name}`)).body);
  const stored = async () => jwks.parse(JSON.parse(Buffer.from((await secret()).data['seal.jwks'] ?? '', 'base64').toString())).keys;
  const storeEntry = (name: string, entry: string, keys: unknown) =>
    kubernetes.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: serviceNamespace },
      data: { [entry]: Buffer.from(JSON.stringify({ keys })).toString('base64') },
    });
  const store = (keys: unknown) => storeEntry('atrium-keys', 'seal.jwks', keys);
  const readings = async () => {
    const { values } = await callTimes(metrics).get();
    return (
      values.find(({ metricName, labels }) => metricName?.endsWith('_count') && labels.call === 'get secrets' && labels.outcome === 200)
        ?.value ?? 0
    );
  };

  before(async () => {
    kubernetes = await install(cluster);
    await kubernetes.apply(...mayUpdate(['older', 'empty', 'rotated', 'spoilt', 'signing']));
    const token = await kubernetes.serviceToken();
    metrics = new Metrics();
    service = new KubernetesClient({
      connection: connectionWith(token, cluster),
      requestTimeoutMs: 60_000,
      metrics,
    });
  });
  after(async () => {
    for (const one of rings) one.stop();
    await service.close();
    await kubernetes.close();
  });

  it('has no key before it has read one, and reports the reason', async () => {
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

  it('is made by one of the replicas that start together; each opens the seals of the others', async () => {
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

  it('reads again for a key that it does not know, but not for every name that a client makes up', async () => {
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
    expect(logLines.join('')).to.contain('key ring could not be read').and.not.to.contain(Buffer.alloc(32, 7).toString('base64url'));
  });

  it('may not look at Secrets of another namespace', async () => {
    const other = ring('atrium-keys', 'default');

    await eventually(
      () => other.failure() ?? '',
      (failure) => failure === '403 Forbidden',
    );
  });

  describe('for the embedded issuer', () => {
    const kids = (keys: readonly JWK[]) => keys.map(({ kid }) => kid);

    it('has the same RS256 and ES256 keys on every replica, and they sign', async () => {
      const [first = [], ...others] = await Promise.all(
        [ring('signing'), ring('signing'), ring('signing')].map((one) => one.signingKeys()),
      );

      expect(first.map(({ kty, alg, use }) => ({ kty, alg, use }))).to.deep.equal([
        { kty: 'RSA', alg: 'RS256', use: 'sig' },
        { kty: 'EC', alg: 'ES256', use: 'sig' },
      ]);
      expect(Buffer.from(first[0]?.n ?? '', 'base64url')).to.have.length(256);
      for (const other of others) expect(other).to.deep.equal(first);
      for (const key of first) {
        const { d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, ...publicKey } = key;
        const signed = await new CompactSign(Buffer.from('x')).setProtectedHeader({ alg: key.alg ?? '' }).sign(await importJWK(key));
        expect(Buffer.from((await compactVerify(signed, publicKey)).payload).toString()).to.equal('x');
      }
    });

    it('completes a Secret of before, once for all replicas, and leaves all else in it', async () => {
      const sealing = { kty: 'oct', kid: 'first', k: Buffer.alloc(32, 1).toString('base64url') };
      await storeEntry('older', 'seal.jwks', [sealing]);
      await storeEntry('older', 'other', ['theirs']);
      await kubernetes.apply({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'older', namespace: serviceNamespace, labels: { team: 'blue' } },
      });
      const before = await secret('older');

      const found = await Promise.all([ring('older'), ring('older'), ring('older')].map((one) => one.signingKeys()));

      const { data, metadata } = await secret('older');
      const { 'identity.jwks': added, ...rest } = data;
      expect(added).to.be.a('string');
      expect(rest).to.deep.equal(before.data);
      expect(metadata.labels).to.deep.equal({ team: 'blue' });
      expect(new Set(found.map((keys) => kids(keys).join()))).to.have.property('size', 1);
    });

    it('completes a Secret that was made empty', async () => {
      await kubernetes.apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'empty', namespace: serviceNamespace } });

      const one = ring('empty');
      expect(await (await ready(one)).open((await ready(ring('empty'))).seal('x'))).to.equal('x');
      expect(await one.signingKeys()).to.have.length(2);
    });

    it('has a new key in front as soon as it is asked again, and its predecessor behind it', async () => {
      const one = ring('rotated');
      const old = await one.signingKeys();
      const fresh = await ring('signing').signingKeys();
      await storeEntry('rotated', 'identity.jwks', [...fresh, ...old]);

      expect(kids(await one.signingKeys())).to.deep.equal([...kids(fresh), ...kids(old)]);
    });

    const unusable: [string, (keys: readonly JWK[]) => unknown][] = [
      ['nothing', () => []],
      ['a key of one algorithm only', (keys) => keys.slice(0, 1)],
      ['public keys', (keys) => keys.map(({ d: _private, ...rest }) => rest)],
      ['a symmetric key', (keys) => [...keys, { kty: 'oct', kid: 'x', k: 'c2VjcmV0', alg: 'HS256', use: 'sig' }]],
      ['a text', () => 'secret-text'],
    ];
    for (const [what, spoil] of unusable) {
      it(`is 503 for ${what} in their place, and quotes none of it`, async () => {
        const one = ring('spoilt');
        const good = await ring('signing').signingKeys();
        await storeEntry('spoilt', 'identity.jwks', spoil(good));

        const error = await one.signingKeys().then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).to.have.nested.property('status.code', 503);
        expect(String(error instanceof Error && error.cause)).to.equal('Error: the Secret holds no set of keys in identity.jwks');
        expect(one.failure()).to.equal(undefined);
      });
    }

    it('is 503 while the Secret cannot be read', async () => {
      const forbidden = ring('atrium-keys', 'default');

      for (const ask of [() => forbidden.signingKeys(), () => forbidden.cookieKeys()]) {
        const error = await ask().then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).to.have.nested.property('status.code', 503);
      }
    });

    it('signs cookies with a key of its own for each sealing key, in their order', async () => {
      const [first, second] = [1, 2].map((byte) => ({ kty: 'oct', kid: `k${byte}`, k: Buffer.alloc(32, byte).toString('base64url') }));
      await storeEntry('cookies', 'seal.jwks', [first]);
      const one = ring('cookies');
      const [old] = await one.cookieKeys();
      await storeEntry('cookies', 'seal.jwks', [second, first]);
      const [fresh, ...behind] = await one.cookieKeys();

      expect(old)
        .to.match(/^[\w-]{43}$/)
        .and.not.to.be.oneOf([first?.k, second?.k]);
      expect(fresh).not.to.equal(old);
      expect(behind).to.deep.equal([old]);
    });
  });
});
