import { X509Certificate } from 'node:crypto';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { parse } from 'yaml';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { subjectOf } from '../../support/signing-request.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { authorize, issued, kubectlWhoami, mayHaveCertificates, ownRequest, recordOf, refusal, untilNoneLeft } from './authorize.ts';

const clientAuth = '1.3.6.1.5.5.7.3.2';

describe('POST /auth/v1/authorize', () => {
  const server = forSuite(() => startServer({ config: { login: { claims: { groupsPrefix: 'oidc:' } } } }));
  let alice: string;
  const jane = nameOf('jane@example.com');

  before(async () => {
    await mayHaveCertificates(server.kubernetes, 'alice');
    await mayHaveCertificates(server.kubernetes, 'bob');
    const groups = ['dev', 'ops', 'on-call'];
    await mayHaveCertificates(server.kubernetes, 'manager', ['users', 'jane', 'gone'], ['groups', 'oidc:dev', 'oidc:ops']);
    await server.kubernetes.apply(
      aUser('jane@example.com', { subjectName: 'jane', groups }),
      aUser('gone@example.com', { subjectName: 'gone', is_disabled: true }),
    );
    alice = await recordOf(server, 'alice');
  });

  it('gives a certificate and a key for kubectl, for an hour', async () => {
    const before = Date.now();
    const certificate = await issued(server, 'alice');
    const { spec, status, metadata } = certificate;
    const { subject, keyUsage, subjectAltName, ca, serialNumber, validToDate } = new X509Certificate(status.certificate);

    expect(metadata.name).to.match(new RegExp(`^atrium-${alice.slice(0, 8)}-[0-9a-f]{8}$`));
    expect(spec).to.deep.equal({ expirationSeconds: 3600, user: alice });
    expect(status.subject).to.deep.equal({ commonName: 'alice', organizations: [] });
    expect({ subject, keyUsage, subjectAltName, ca }).to.deep.equal({
      subject: 'CN=alice',
      keyUsage: [clientAuth],
      subjectAltName: undefined,
      ca: false,
    });
    expect(BigInt(`0x${status.serialNumber}`)).to.equal(BigInt(`0x${serialNumber}`));
    expect(Date.parse(status.notAfter)).to.equal(validToDate.getTime());
    expect(validToDate.getTime() - before).to.be.within(3_598_000, 3_660_000);
    expect(status.key).to.match(/^-----BEGIN PRIVATE KEY-----\n[^-]+\n-----END PRIVATE KEY-----\n?$/);
    expect((await kubectlWhoami(certificate)).username).to.equal('alice');
  });

  it('accepts a missing body and the names of the object, and refuses unknown fields', async () => {
    const none = await server.request('/auth/v1/authorize', { method: 'POST', as: 'alice' });
    expect(none.status, await none.text()).to.equal(201);
    const body = { apiVersion: 'auth.platform.io/v1', kind: 'UserCertificate', metadata: {}, spec: { namespace: 'shop' } };
    const whole = await server.request('/auth/v1/authorize', { method: 'POST', as: 'alice', body });
    const { status } = (await whole.json()) as { status: { kubeconfig: string } };
    expect(parse(status.kubeconfig)).to.have.nested.property('contexts[0].context.namespace', 'shop');

    for (const [field, spec] of Object.entries({ 'spec.usage': { usage: 'any' }, 'spec.namespace': { namespace: '../x' } }))
      expect((await refusal(await authorize(server, 'alice', spec))).code, field).to.equal(400);
  });

  it('signs a request of the caller, whose key it never sees', async () => {
    const { request, key } = await ownRequest({ subject: subjectOf('alice') });
    const certificate = await issued(server, 'alice', { request });

    expect(certificate.status).not.to.have.property('key');
    expect(parse(certificate.status.kubeconfig)).to.have.nested.property('users[0].user.client-key', 'client.key');
    expect((await kubectlWhoami(certificate, key)).username).to.equal('alice');
  });

  it('takes RSA, P-384, P-521 and Ed25519 keys too', async () => {
    const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
    const curve = (namedCurve: string) => ({ name: 'ECDSA', namedCurve, hash: 'SHA-384' });
    for (const algorithm of [rsa, curve('P-384'), curve('P-521'), { name: 'Ed25519' }]) {
      const { request } = await ownRequest({ subject: [{ CN: [{ printableString: 'alice' }] }], algorithm });
      expect((await issued(server, 'alice', { request })).status.subject.commonName).to.equal('alice');
    }
  });

  it('works for a caller without a User record', async () => {
    const { spec, metadata, status } = await issued(server, 'bob');

    expect(spec).to.deep.equal({ expirationSeconds: 3600 });
    expect(metadata.name).to.match(/^atrium-caller-/);
    expect(status.subject.commonName).to.equal('bob');
  });

  it('issues a certificate for another user to callers who may impersonate that user and their groups, or some of them', async () => {
    const certificate = await issued(server, 'manager', { user: jane, groups: ['oidc:ops', 'oidc:dev'] });
    expect(certificate.spec.user).to.equal(jane);
    expect(certificate.status.subject.organizations).to.have.members(['oidc:dev', 'oidc:ops']);
    const { username, groups } = await kubectlWhoami(certificate);
    expect(username).to.equal('jane');
    expect(groups).to.have.members(['oidc:dev', 'oidc:ops', 'system:authenticated']);

    const all = await refusal(await authorize(server, 'manager', { user: jane }));
    expect(all).to.include({ code: 403 });
    expect(all.message).to.contain('groups "oidc:on-call" is forbidden: User "manager" cannot impersonate');
    const none = await issued(server, 'manager', { user: jane, groups: [] });
    expect(none.status.subject.organizations).to.deep.equal([]);
  });

  it('writes the signed groups into the subject, when a request names fewer groups', async () => {
    const { request } = await ownRequest({ subject: subjectOf('jane', 'oidc:dev') });
    const { status } = await issued(server, 'manager', { user: jane, groups: ['oidc:ops', 'oidc:dev'], request });

    expect(status.subject).to.deep.equal({ commonName: 'jane', organizations: ['oidc:dev'] });
  });

  it('answers 401 without a token, 403 without permission whether or not the user exists, and 404 with permission', async () => {
    expect((await server.request('/auth/v1/authorize', { method: 'POST', body: {} })).status).to.equal(401);
    for (const user of [undefined, jane, 'nobody-of-that-name'])
      expect((await authorize(server, 'nobody', user === undefined ? {} : { user })).status, user).to.equal(403);
    expect(await refusal(await authorize(server, 'manager', { user: 'nobody-of-that-name' }))).to.include({
      code: 404,
      message: 'users.auth.platform.io "nobody-of-that-name" not found',
    });
    expect((await authorize(server, 'manager', { user: nameOf('gone@example.com') })).status).to.equal(403);
  });

  it('is counted once in the audit trail, and leaves no request and no key behind', async () => {
    server.auditLines.length = 0;
    const certificates = await Promise.all(Array.from({ length: 10 }, () => issued(server, 'alice')));
    const lines = await eventually(
      () => server.auditLines.filter((line) => line.includes('"CertificateIssued"')),
      ({ length }) => length >= 10,
    );

    expect(lines).to.have.length(10);
    expect(JSON.parse(lines[0] ?? '')).to.include({ audit: 'CertificateIssued', target: alice, outcome: 'success', code: 201 });
    await untilNoneLeft(server);
    const written = [...server.logLines, ...server.auditLines].join('');
    for (const { status } of certificates) {
      const [, secret = ''] = (status.key ?? '').split('\n');
      expect(secret).to.have.length(64);
      expect(written).not.to.contain(secret);
    }
    expect(new Set(certificates.map(({ status }) => status.key))).to.have.property('size', 10);
  });
});
