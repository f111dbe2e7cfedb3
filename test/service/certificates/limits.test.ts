import { forSuite } from '../../support/for-suite.ts';
import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import { startServer } from '../../support/server.ts';
import { base64, type RequestParts, subjectOf } from '../../support/signing-request.ts';
import { authorize, issued, mayHaveCertificates, ownRequest, recordOf, refusal, untilNoneLeft } from './authorize.ts';

const { keyCertSign, digitalSignature } = x509.KeyUsageFlags;

describe('the limit of certificate requests', () => {
  const server = forSuite(() => startServer());

  before(async () => {
    for (const person of ['alice', 'carol'] as const) await mayHaveCertificates(server.kubernetes, person);
    await recordOf(server, 'alice', { groups: ['not-told-by-the-api-server'] });
    await recordOf(server, 'viewer');
  });
  after(async () => {
    await untilNoneLeft(server);
  });

  const refusedWith = async (spec: Record<string, unknown>) => refusal(await authorize(server, 'alice', spec));

  it('CRT-01 names the caller, whatever the body says', async () => {
    const viewer = await recordOf(server, 'viewer');
    const other = await refusedWith({ user: viewer });
    expect(other.code).to.equal(403);
    expect(other.message).to.contain('users "viewer" is forbidden: User "alice" cannot impersonate');

    for (const name of ['admin', 'Alice', 'alice ', 'alice\0', 'alice,O=system:masters', 'system:admin']) {
      const { request } = await ownRequest({ subject: subjectOf(name) });
      expect(await refusedWith({ request }), name).to.include({ code: 403, message: 'the request names another user' });
    }
    for (const spec of [{ commonName: 'admin' }, { username: 'admin' }, { uid: '1' }]) expect((await refusedWith(spec)).code).to.equal(400);
  });

  it('CRT-01 CRT-02 gives groups that are the callers own, and none of Kubernetes', async () => {
    for (const group of ['system:masters', 'system:nodes', 'system:authenticated', 'dev', 'local:admins', 'not-told-by-the-api-server']) {
      const { request } = await ownRequest({ subject: subjectOf('alice', group) });
      expect((await refusedWith({ request })).code, group).to.equal(403);
      expect((await refusedWith({ groups: [group] })).code, group).to.equal(403);
    }
    expect((await issued(server, 'alice')).status.subject.organizations).to.deep.equal([]);
  });

  it('CRT-03 refuses blanks instead of a request, as many as fit', async () => {
    const pem = `-----BEGIN CERTIFICATE REQUEST-----${' '.repeat(40_000)}x`;
    for (const request of [' '.repeat(60_000), `AAAA${' '.repeat(60_000)}!`, Buffer.from(pem).toString('base64')])
      expect(await refusedWith({ request })).to.deep.include({ code: 400 });
  });

  it('S1 refuses a request of more names than a user can have before it is parsed, and reads one of 512', async () => {
    const names = Array.from({ length: 2000 }, (_, index) => `group-${index}`);
    const asked = async (count: number) => {
      const { request } = await ownRequest({ subject: subjectOf('alice', ...names.slice(0, count)) });
      return refusedWith({ request });
    };
    expect((await asked(512)).code).to.equal(403);
    expect(await asked(2000)).to.include({
      code: 400,
      message: 'spec.request: is not a certificate request (PKCS #10), or names more than 512 organizations',
    });
  });

  it('CRT-02 gives nothing to an account of Kubernetes', async () => {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'default' } };
    await server.kubernetes.apply(account, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'robot-certificates' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'atrium-certificates' },
      subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'default' }],
    });
    const { body } = await server.kubernetes.call('POST', '/api/v1/namespaces/default/serviceaccounts/robot/token', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    });
    const { token } = (body as { status: { token: string } }).status;
    const refused = await eventually(
      async () => refusal(await server.request('/auth/v1/authorize', { method: 'POST', token, body: {} })),
      ({ message }) => !message.includes('cannot create'),
    );

    expect(refused).to.include({
      code: 403,
      message: '"system:serviceaccount:default:robot" is reserved for Kubernetes: no certificate can be issued',
    });
  });

  it('CRT-03 refuses requests for more than a client certificate', async () => {
    const alice = subjectOf('alice');
    const extended = (...extensions: x509.Extension[]): RequestParts => ({ subject: alice, extensions });
    const rsa = (modulusLength: number, hash = 'SHA-256') => ({
      subject: alice,
      algorithm: { name: 'RSASSA-PKCS1-v1_5', hash, modulusLength, publicExponent: new Uint8Array([1, 0, 1]) },
    });
    const attribute = new x509.ChallengePasswordAttribute('secret');
    const requests: Record<string, RequestParts> = {
      'a certificate authority': extended(new x509.BasicConstraintsExtension(true)),
      'signing certificates': extended(new x509.KeyUsagesExtension(keyCertSign | digitalSignature)),
      'a server': extended(new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth, x509.ExtendedKeyUsage.serverAuth])),
      'another name': extended(new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: 'localhost' }])),
      'an unknown extension': extended(new x509.Extension('1.2.3.4', false, new Uint8Array([5, 0]))),
      'an attribute': { subject: alice, attributes: [attribute] },
      'RSA 1024': rsa(1024),
      'SHA-1': rsa(2048, 'SHA-1'),
      'the exponent 3': { ...rsa(2048), algorithm: { ...rsa(2048).algorithm, publicExponent: new Uint8Array([3]) } },
      'no CN': { subject: [{ O: [{ utf8String: 'dev' }] }] },
      'two CNs': { subject: [...alice, ...subjectOf('admin')] },
      'two CNs in one part': { subject: [{ CN: [{ utf8String: 'alice' }, { utf8String: 'admin' }] }] },
      'a name of another kind': { subject: [...alice, { OU: [{ utf8String: 'dev' }] }] },
      'another type of string': { subject: [{ CN: [{ bmpString: 'alice' }] }] },
    };
    for (const [what, parts] of Object.entries(requests)) {
      const { request } = await ownRequest(parts);
      expect(await refusedWith({ request }), what).to.include({ code: 400, field: 'spec.request' });
    }
  });

  it('CRT-03 refuses anything but one well-formed request that is signed by its key', async () => {
    const { request } = await ownRequest({ subject: subjectOf('alice') });
    const pem = Buffer.from(request, 'base64').toString();
    const lines = pem.trim().split('\n');
    const der = Buffer.from(lines.slice(1, -1).join(''), 'base64');
    der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1);
    const block = (label: string, bytes: Buffer) => `-----BEGIN ${label}-----\n${bytes.toString('base64')}\n-----END ${label}-----\n`;
    const texts: Record<string, string> = {
      'no base64': '-----BEGIN CERTIFICATE REQUEST-----',
      'no PEM': base64('alice'),
      'the DER itself': lines.slice(1, -1).join(''),
      'a broken signature': base64(block('CERTIFICATE REQUEST', der)),
      'half of it': base64(block('CERTIFICATE REQUEST', der.subarray(0, 100))),
      'something else': base64(block('CERTIFICATE', der)),
      'two blocks': base64(pem + pem),
      'a key beside it': base64(`${pem}\n-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n`),
      'half a megabyte': base64('A'.repeat(500_000)),
      nothing: '',
    };
    for (const [what, text] of Object.entries(texts))
      expect(await refusedWith({ request: text }), what).to.include({ code: 400, field: 'spec.request' });
    expect([400, 413]).to.include((await refusedWith({ request: base64('A'.repeat(1_000_000)) })).code);
  });

  it('CRT-03 accepts requests within the granted usages', async () => {
    const extensions = [
      new x509.BasicConstraintsExtension(false),
      new x509.KeyUsagesExtension(digitalSignature),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
    ];
    const { request } = await ownRequest({ subject: subjectOf('alice'), extensions });
    const { status } = await issued(server, 'alice', { request });

    expect(new X509Certificate(status.certificate).keyUsage).to.deep.equal(['1.3.6.1.5.5.7.3.2']);
  });

  it('CRT-04 bounds how long it holds', async () => {
    for (const expirationSeconds of [0, 599, -1, 600.5, '600', null])
      expect(await refusedWith({ expirationSeconds }), String(expirationSeconds)).to.include({
        code: 400,
        field: 'spec.expirationSeconds',
      });
    const secondsFrom = ({ status }: { status: { notAfter: string } }) => (Date.parse(status.notAfter) - Date.now()) / 1000;
    for (const [asked, counted] of [
      [600, 600],
      [315_360_000, 86_400],
    ]) {
      const certificate = await issued(server, 'alice', { expirationSeconds: asked });
      expect(certificate.spec.expirationSeconds).to.equal(counted);
      // Kubernetes subtracts five minutes from long durations.
      expect(secondsFrom(certificate)).to.be.within((counted ?? 0) - 330, (counted ?? 0) + 1);
    }
  });

  it('CRT-04 gives none to a user who is disabled, whatever token he has', async () => {
    await recordOf(server, 'carol', { is_disabled: true });

    expect(await refusal(await authorize(server, 'carol'))).to.include({
      code: 403,
      message: 'the user is Disabled: no certificate can be issued',
    });
  });
});
