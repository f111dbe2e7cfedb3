import { expect } from 'chai';
import { suiteWorkspace } from './workspace.ts';

describe('built-in resources', () => {
  const { workspace, admin } = suiteWorkspace();
  let secrets: string;
  before(async () => {
    secrets = `/api/v1/namespaces/${workspace.namespace}/secrets`;
  });

  describe('Secret', () => {
    it('is Opaque, and keeps stringData as base64 in data', async () => {
      const answer = await admin.post(secrets, {
        metadata: { name: 'text' },
        data: { a: 'YQ==', b: 'Yg==' },
        stringData: { b: 'changed', c: 'ü' },
      });

      expect(answer.status).to.equal(201);
      expect(answer.body).to.deep.include({ type: 'Opaque', data: { a: 'YQ==', b: 'Y2hhbmdlZA==', c: 'w7w=' } });
      expect(answer.body).not.to.have.property('stringData');
    });

    it('takes nothing but base64 in data', async () => {
      expect((await admin.post(secrets, { metadata: { name: 'raw' }, data: { a: 'not base64!' } })).status).to.equal(400);
    });

    it('keeps its type', async () => {
      await admin.create(secrets, { metadata: { name: 'typed' }, type: 'example.com/a' });
      const answer = await admin.patch(`${secrets}/typed`, { type: 'example.com/b' });

      expect(answer.status).to.equal(422);
      expect(answer.body).to.have.nested.property('details.causes[0].field', 'type');
    });

    it('stays as it is once it is immutable', async () => {
      await admin.create(secrets, { metadata: { name: 'frozen' }, immutable: true, data: { a: 'YQ==' } });
      const answer = await admin.patch(`${secrets}/frozen`, { data: { a: 'Yg==' } });

      expect(answer.status).to.equal(422);
      expect(answer.text).to.include('field is immutable when `immutable` is set');
    });
  });

  describe('ConfigMap', () => {
    it('has text in data and base64 in binaryData, no key in both', async () => {
      const good = { metadata: { name: 'bytes' }, data: { text: 'a' }, binaryData: { bytes: '/wA=' } };
      expect((await admin.post(workspace.configMaps, good)).body).to.deep.include({ data: { text: 'a' }, binaryData: { bytes: '/wA=' } });

      const twice = { metadata: { name: 'twice' }, data: { same: 'a' }, binaryData: { same: '/wA=' } };
      expect((await admin.post(workspace.configMaps, twice)).status).to.equal(422);
      expect((await admin.post(workspace.configMaps, { metadata: { name: 'key' }, data: { 'a/b': '' } })).status).to.equal(422);
    });

    it('is limited to 1 MiB of data', async () => {
      const answer = await admin.post(workspace.configMaps, { metadata: { name: 'large' }, data: { a: 'a'.repeat(1024 * 1024 + 1) } });

      expect(answer.status).to.equal(422);
      expect(answer.body).to.have.nested.property('details.causes[0].reason', 'FieldValueTooLong');
    });
  });

  describe('Event', () => {
    const anEvent = (involvedObject: Record<string, unknown>) => ({
      metadata: { generateName: 'event-' },
      involvedObject: { apiVersion: 'v1', kind: 'Anything', name: 'thing', ...involvedObject },
      reason: 'Tested',
      message: 'for this suite',
      type: 'Normal',
    });

    it('is kept in the namespace of its object', async () => {
      const { namespace } = workspace;
      const events = `/api/v1/namespaces/${namespace}/events`;

      expect((await admin.post(events, anEvent({ namespace }))).status).to.equal(201);
      for (const involvedObject of [{ namespace: 'default' }, {}]) {
        const answer = await admin.post(events, anEvent(involvedObject));
        expect(answer.status).to.equal(422);
        expect(answer.body).to.have.nested.property('details.causes[0].field', 'involvedObject.namespace');
      }
    });

    it('is kept in default when it is about something without a namespace', async () => {
      const event = await admin.create('/api/v1/namespaces/default/events', anEvent({}));

      await admin.delete(`/api/v1/namespaces/default/events/${event.metadata.name}`);
    });
  });

  describe('Lease', () => {
    const aLease = (name: string, spec: Record<string, unknown>) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name },
      spec,
    });

    it('is won by one writer: the other one gets a Conflict', async () => {
      const leases = `/apis/coordination.k8s.io/v1/namespaces/${workspace.namespace}/leases`;
      const lease = await admin.create(
        leases,
        aLease('leader', { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z' }),
      );
      const take = (holderIdentity: string) => admin.put(`${leases}/leader`, { ...lease, spec: { ...lease.spec, holderIdentity } });
      const answers = await Promise.all([take('b'), take('c'), take('d')]);

      expect(answers.map((answer) => answer.status).toSorted()).to.deep.equal([200, 409, 409]);
    });
  });
});
