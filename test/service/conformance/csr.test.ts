import { X509Certificate } from 'node:crypto';
import { expect } from 'chai';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { base64, selfSigned, signingRequest, subjectOf } from '../../support/signing-request.ts';
import type { ApiClient, KubernetesObject } from './api-client.ts';
import { eventually } from './eventually.ts';
import { suiteWorkspace } from './workspace.ts';

const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const clientSigner = 'kubernetes.io/kube-apiserver-client';
const issuedStatus = z.object({ certificate: z.string() });

describe('a CertificateSigningRequest', () => {
  const { workspace, admin } = suiteWorkspace();
  let alice: ApiClient;
  before(async () => {
    alice = await workspace.as('alice');
    await bind('alice', [{ apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: ['create', 'get'] }]);
    // The authorizer learns of a grant by a watch.
    await eventually(async () => expect((await alice.get(`${path}/missing`)).status).to.equal(404));
  });

  const bind = async (person: string, rules: unknown[]) => {
    const { metadata } = await admin.create('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      metadata: { generateName: 'csr-' },
      rules,
    });
    await admin.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: metadata.name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: person }],
    });
  };
  const anObject = async (spec: Record<string, unknown> = {}, subject = subjectOf('carol', 'dev', 'ops')) => {
    const { request: pem, key } = await signingRequest({ subject });
    const object = {
      metadata: { generateName: 'csr-' },
      spec: { request: base64(pem), signerName: clientSigner, usages: ['client auth'], ...spec },
    };
    return { object, key };
  };
  const approval = (type = 'Approved') => ({ status: { conditions: [{ type, status: 'True', reason: 'Test', message: 'as asked' }] } });
  const approve = (object: KubernetesObject, by = admin) =>
    by.put(`${path}/${object.metadata.name}/approval`, { ...object, ...approval() });
  const issued = ({ metadata }: KubernetesObject) =>
    eventually(async () => {
      const { certificate } = issuedStatus.parse((await admin.read(`${path}/${metadata.name}`)).status);
      return Buffer.from(certificate, 'base64').toString();
    });
  const whoami = async (certificate: string, key: string) => {
    const { url, certificateAuthority: ca } = workspace.server;
    const dispatcher = new Agent({ connect: { ca, cert: certificate, key } });
    const answer = await request(`${url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
    });
    const body = await answer.body.json();
    await dispatcher.close();
    return { status: answer.statusCode, body };
  };

  it('records the caller, and ignores an approval in the request', async () => {
    const { object } = await anObject({ username: 'admin', groups: ['system:masters'] });
    const created = await alice.create(path, { ...object, ...approval() });

    expect(created.spec).to.include({ username: 'alice', signerName: clientSigner });
    expect(created.spec?.groups).to.include('system:authenticated').and.not.to.include('system:masters');
    expect(created.status).to.deep.equal({});
  });

  it('becomes a certificate for clients once it is approved, which says who the caller is', async () => {
    const { object, key } = await anObject({ expirationSeconds: 600 });
    const created = await alice.create(path, object);
    const before = Date.now();
    expect((await approve(created)).status).to.equal(200);
    const pem = await issued(created);
    const after = Date.now();
    const certificate = new X509Certificate(pem);

    expect(certificate.subject.split(/\n| \+ /).sort()).to.deep.equal(['CN=carol', 'O=dev', 'O=ops']);
    expect(certificate.keyUsage).to.deep.equal(['1.3.6.1.5.5.7.3.2']);
    expect(certificate.ca).to.equal(false);
    // The certificate was signed between the two times, which are compared in whole seconds.
    expect(certificate.validToDate.getTime()).to.be.within(before + 599_000, after + 601_000);

    const { status, body } = await whoami(pem, key);
    expect(status).to.equal(201);
    expect(body).to.have.nested.property('status.userInfo.username', 'carol');
    expect(body).to.have.nested.property('status.userInfo.groups').members(['dev', 'ops', 'system:authenticated']);
  });

  it('refuses a certificate of another authority', async () => {
    const { certificate, key } = await selfSigned('admin');

    expect((await whoami(certificate, key)).status).to.equal(401);
  });

  it('is refused with 422 if no signer could use it', async () => {
    const { object } = await anObject();
    const broken = Buffer.from(object.spec.request, 'base64').toString();
    const der = Buffer.from(broken.replace(/-----.*?-----|\s/g, ''), 'base64');
    der.writeUInt8(der.readUInt8(30) ^ 1, 30);
    const block = (label: string, bytes: Buffer) =>
      base64(`-----BEGIN ${label}-----\n${bytes.toString('base64')}\n-----END ${label}-----\n`);
    const wrong: [field: string, spec: Record<string, unknown>][] = [
      ['spec.expirationSeconds', { expirationSeconds: 599 }],
      ['spec.usages', { usages: [] }],
      ['spec.usages[0]', { usages: ['world domination'] }],
      ['spec.signerName', { signerName: 'nobody' }],
      ['spec.request', { request: base64('hello') }],
      ['spec.request', { request: block('CERTIFICATE', der) }],
      ['spec.request', { request: block('CERTIFICATE REQUEST', der) }],
    ];
    for (const [field, spec] of wrong) {
      const { status, body } = await admin.post(path, { ...object, spec: { ...object.spec, ...spec } });

      expect(status, field).to.equal(422);
      expect(body, field).to.have.nested.property('details.causes[0].field', field);
    }
  });

  it('is never for system:masters', async () => {
    const { object } = await anObject({}, subjectOf('carol', 'system:masters'));
    const { status, body } = await admin.post(path, object);

    expect(status).to.equal(403);
    expect(body).to.have.property('message').that.contains(`use of ${clientSigner} signer with system:masters group is not allowed`);
  });

  it('is approved by callers who may approve at its signer; permission to write is not enough', async () => {
    const rule = { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests/approval'], verbs: ['update'] };
    const signers = (name: string) => ({
      apiGroups: ['certificates.k8s.io'],
      resources: ['signers'],
      resourceNames: [name],
      verbs: ['approve'],
    });
    const { object } = await anObject();
    const bob = await workspace.as('bob');
    await bind('bob', [rule, signers('example.com/other')]);
    const refusal = await eventually(async () => {
      const answer = await approve(await admin.create(path, object), bob);
      expect(answer.text).to.contain('user not permitted');
      return answer;
    });

    expect(refusal.status).to.equal(403);
    expect(refusal.body)
      .to.have.property('message')
      .that.contains(`user not permitted to approve requests with signerName "${clientSigner}"`);
    await bind('bob', [signers('kubernetes.io/*')]);
    await eventually(async () => expect((await approve(await admin.create(path, object), bob)).status).to.equal(200));
  });

  it('fails for usages that the signer does not know, and stays without a certificate', async () => {
    const { object } = await anObject({ usages: ['client auth', 'server auth'] });
    const created = await admin.create(path, object);
    await approve(created);
    const failed = await eventually(async () => {
      const found = await admin.read(`${path}/${created.metadata.name}`);
      expect(found).to.have.nested.property('status.conditions[1].type', 'Failed');
      return found;
    });

    expect(failed).to.have.nested.property('status.conditions[1].reason', 'SignerValidationFailure');
    expect(failed.status).not.to.have.property('certificate');
  });

  it('is listed by its signer, shown as a table, and gone when it is deleted', async () => {
    const { object } = await anObject({ signerName: 'example.com/listed', expirationSeconds: 3600 });
    const { metadata } = await admin.create(path, object);
    const { items } = await admin.list(path, { fieldSelector: 'spec.signerName=example.com/listed' });
    expect(items.map((item) => item.metadata.name)).to.include(metadata.name);

    const { body } = await admin.send('GET', `${path}/${metadata.name}`, {
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    expect(body).to.have.nested.property('rows[0].cells').that.include.members(['example.com/listed', 'admin', 'Pending']);
    expect((await admin.delete(`${path}/${metadata.name}`)).status).to.equal(200);
    expect((await admin.get(`${path}/${metadata.name}`)).status).to.equal(404);
  });
});
