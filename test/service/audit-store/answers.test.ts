import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { withAuditStore } from './installation.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';
const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io';

/** Returns a field of a Protobuf message: a text, or a message. */
function field(number: number, value: string | Buffer): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
}

/** Returns an object as kubectl and other clients of Go send it. */
const encoded = (apiVersion: string, kind: string, ...fields: Buffer[]) => {
  const type = Buffer.concat([field(1, apiVersion), field(2, kind)]);
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, Buffer.concat(fields))]);
};
const metadata = (name: string) => field(1, field(1, name));

describe('events of requests in Protobuf, and of those with a long answer', () => {
  const service = forSuite(async () => {
    const started = await withAuditStore();
    await started.startStore();
    return started;
  });
  let number = 0;
  /** Sends a request at the door, and returns its event. */
  async function told(method: string, path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) {
    const id = `answer-${++number}`;
    const authorization = `Bearer ${await service.token('admin')}`;
    const url = `${service.url}/api/kubernetes${path}`;
    const response = await fetch(url, { method, body, headers: { authorization, 'x-request-id': id, ...headers } });
    expect(response.status, await response.text()).to.equal(201);
    const items = async () => {
      const found = await service.request(`/auth/v1/audit?request=${id}`, { as: 'admin' });
      return auditEventList.parse(await found.json()).items;
    };
    const [event] = await eventually(items, ({ length }) => length === 1);
    return event;
  }

  it('tell the name and the role of a binding that kubectl creates, which sends Protobuf and prefers it', async () => {
    const role = field(3, Buffer.concat([field(1, 'rbac.authorization.k8s.io'), field(2, 'ClusterRole'), field(3, 'view')]));
    const subject = field(2, Buffer.concat([field(1, 'User'), field(2, 'rbac.authorization.k8s.io'), field(3, 'ann')]));
    const binding = encoded('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', metadata('sent'), subject, role);
    const headers = { 'content-type': protobuf, accept: `${protobuf},application/json` };
    const event = await told('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding, headers);
    expect(event?.objectRef.name).to.equal('sent');
    expect([event?.action, event?.grant]).to.deep.equal(['grant', { role: 'ClusterRole/view', subjects: ['User/ann'] }]);
  });

  it('tell the name of a new object, also of a long one and of one in a table', async () => {
    const object = (name: string, length: number, sign = 'x') => {
      const text = sign.repeat(length);
      const metadata = { annotations: { a: text.slice(0, 100_000) }, name };
      return JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: text, metadata: 'none', name: 'none' }, metadata });
    };
    const path = '/api/v1/namespaces/default/configmaps';
    const json = { 'content-type': 'application/json' };
    const accepted = [protobuf, asTable, `${asTable},application/json`, 'application/yaml', '*/*'];
    for (const [index, accept] of accepted.entries()) {
      const event = await told('POST', path, object(`some-${index}`, 10), { ...json, accept });
      expect(event?.objectRef.name, accept).to.equal(`some-${index}`);
    }
    for (const [name, sign] of Object.entries({ long: 'x', quotes: '\\"', braces: '{"metadata":{"name":"none"},' })) {
      const long = object(name, Math.floor(200_000 / sign.length), sign);
      const event = await told('POST', path, long, { ...json, 'accept-encoding': 'gzip' });
      expect(event?.objectRef.name).to.equal(name);
    }
  });
});
