/** Requests that are open when access ends. */
import { expect } from 'chai';
import { afterEach, before, describe, it } from 'mocha';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';
import { applyKnown } from '../bindings/support.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { closeOpened, openUpgrade } from '../proxy/support.ts';
import { aUser } from '../users/a-user.ts';
import { EventStream } from '../users/event-stream.ts';
import { AccessRequests, aPolicy, user } from './support.ts';

const pod = '/api/v1/namespaces/shop/pods/x';
const configMaps = '/api/v1/namespaces/shop/configmaps';

const objects = [
  aNamespace('shop'),
  // The embedded cluster has no workloads in this suite, and its role edit names none.
  aRole('edit', [
    { apiGroups: [''], resources: ['configmaps', 'pods', 'pods/log'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['pods/exec', 'pods/portforward'], verbs: ['get', 'create'] },
  ]),
  aRole('lists-service', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }]),
  aBinding('lists-service', { role: 'lists-service', to: `ServiceAccount:${serviceNamespace}/atrium` }),
];

type Asker = 'alice' | 'carol';

/** A request that is open, or over; its last bytes. */
interface Open {
  isOver: boolean;
  told: string;
}

/** Close frame with the code 1008. */
const closing = '\x88\x1c\x03\xf0the permission was revoked';

const refusal = 'pods "x" is forbidden: User "alice" cannot get resource "pods/exec" in API group "" in the namespace "shop"';

describe('long requests when access ends', () => {
  const between = new ApiServerBetween();
  const server = forSuite(() =>
    startServer({
      between: between.start,
      objects,
      // A long life of decisions: the end of a binding alone ends the requests.
      config: {
        features: { accessRequests: true },
        kubernetes: { accessCache: '1h' },
        lists: { resources: [{ version: 'v1', resource: 'configmaps' }] },
      },
    }),
  );
  let access: AccessRequests;
  let replicas: string[];
  const leaving: AbortController[] = [];

  before(async () => {
    access = new AccessRequests(server);
    await applyKnown(server, ...['alice', 'bob', 'carol'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
    await access.apply(aPolicy('shell', { subjects: [user('alice'), user('carol')], roleRefs: ['edit'], approvers: [user('bob')] }));
    replicas = [server.url, (await server.replica()).url];
  });
  afterEach(() => {
    closeOpened();
    for (const controller of leaving.splice(0)) controller.abort();
  });

  const granted = async (as: Asker) => {
    const request = await access.asked({ as }, { policy: 'shell', roleRef: 'edit' });
    expect((await access.decide({ as: 'bob' }, request)).body.status).to.include({ phase: 'Active' });
    return request;
  };
  const opened = (at: string, as: Asker, path: string, accept = 'application/json') => {
    const controller = new AbortController();
    leaving.push(controller);
    const open = () => server.request(path, { at, as, headers: { accept }, signal: controller.signal });
    return eventually(open, ({ status }) => status === 200);
  };
  const watch = async (at: string, as: Asker): Promise<Open> => {
    const answer = await opened(at, as, `/api/kubernetes${configMaps}?watch=true`);
    const open = { isOver: false, told: '' };
    void answer
      .text()
      .then((text) => Object.assign(open, { told: text.trim().split('\n').at(-1) }))
      .finally(() => Object.assign(open, { isOver: true }));
    return open;
  };
  const live = async (at: string, as: Asker): Promise<Open> => {
    const answer = await opened(at, as, '/api/v2/resources/core/v1/configmaps/namespaces/shop?watch=true', 'text/event-stream');
    const events = new EventStream(answer);
    return {
      get isOver() {
        return events.isOver;
      },
      get told() {
        return JSON.stringify(events.events.at(-1)?.data);
      },
    };
  };
  const upgrade = async (at: string, as: Asker, path: string, protocol: string): Promise<Open> => {
    const headers = { Authorization: `Bearer ${await server.token(as)}`, 'Sec-WebSocket-Protocol': protocol };
    const { socket } = await openUpgrade({ url: at }, headers, { path: `/api/kubernetes${path}` });
    const open = { isOver: false, told: '' };
    socket?.on('data', (chunk: Buffer) => {
      open.told += chunk.toString('latin1');
    });
    socket?.once('close', () => {
      open.isOver = true;
    });
    return open;
  };
  /** Opens a request of each kind at each replica. */
  const openAll = async (as: Asker): Promise<Open[]> => {
    const open: Promise<Open>[] = [];
    for (const at of replicas)
      open.push(
        watch(at, as),
        live(at, as),
        upgrade(at, as, `${pod}/exec?command=sh&stdin=true`, 'v5.channel.k8s.io'),
        upgrade(at, as, `${pod}/portforward?ports=80`, 'v2.portforward.k8s.io'),
      );
    return Promise.all(open);
  };
  const overOf = (open: readonly Open[]) => open.filter(({ isOver }) => isOver).length;

  it('JIT-16 are cut at each replica, with the reason, if they are of the request, and no others', async () => {
    between.upgrade = ({ headers }, socket) => {
      const [protocol = ''] = (headers['sec-websocket-protocol'] ?? '').split(',');
      const head = ['101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Protocol: ${protocol}`];
      socket.write(`HTTP/1.1 ${head.join('\r\n')}\r\n\r\n\x82\x06be`, 'latin1');
      // Each piece ends within a frame.
      const timer = setInterval(() => socket.write('gins\x82\x06be', 'latin1'), 20);
      socket.once('close', () => clearInterval(timer)).resume();
    };
    const [ofAlice] = [await granted('alice'), await granted('carol')];
    const [alice, carol] = [await openAll('alice'), await openAll('carol')];
    expect([overOf(alice), overOf(carol)]).to.deep.equal([0, 0]);

    expect((await access.end({ as: 'alice' }, ofAlice)).body.status).to.include({ phase: 'Ended' });
    await eventually(
      () => overOf(alice),
      (over) => over === alice.length,
    );
    expect(overOf(carol)).to.equal(0);
    for (const at of [0, 4]) {
      const [watched, listed, exec, forwarded] = alice.slice(at).map(({ told }) => told);
      for (const event of [watched, listed]) {
        const { type, object } = JSON.parse(event ?? '');
        expect([type, object.code]).to.deep.equal(['ERROR', 403]);
        expect(object.message).to.contain('User "alice" cannot watch resource "configmaps" in API group "" in the namespace "shop"');
      }
      expect(forwarded?.replaceAll('\x82\x06begins', '')).to.equal(closing);
      const last = exec?.replaceAll('\x82\x06begins', '') ?? '';
      expect([last.slice(0, 2), last.slice(4, 5), last.slice(-closing.length)]).to.deep.equal(['\x82\x7e', '\x03', closing]);
      const { code, message } = JSON.parse(last.slice(5, -closing.length));
      expect([code, message]).to.deep.equal([403, refusal]);
    }
  });
});
