/** Requests that are open when access ends. */
import { expect } from 'chai';
import { afterEach, before, describe, it } from 'mocha';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';
import { applyKnown } from '../bindings/support.ts';
import { ApiServerBetween } from '../proxy/api-server-between.ts';
import { closeOpened, echo, openUpgrade } from '../proxy/support.ts';
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

  const granted = async (as: 'alice' | 'carol') => {
    const request = await access.asked({ as }, { policy: 'shell', roleRef: 'edit' });
    expect((await access.decide({ as: 'bob' }, request)).body.status).to.include({ phase: 'Active' });
    return request;
  };
  const stream = async (at: string, as: 'alice' | 'carol', path: string, accept = 'application/json') => {
    const controller = new AbortController();
    leaving.push(controller);
    const open = () => server.request(path, { at, as, headers: { accept }, signal: controller.signal });
    const answer = await eventually(open, ({ status }) => status === 200);
    return new EventStream(answer);
  };
  const upgrade = async (at: string, as: 'alice' | 'carol', path: string) => {
    const { socket } = await openUpgrade(
      { url: at },
      { Authorization: `Bearer ${await server.token(as)}` },
      { path: `/api/kubernetes${path}` },
    );
    socket?.resume();
    return socket;
  };
  /** Opens a request of each kind at each replica. @returns functions that report whether it is over */
  const openAll = async (as: 'alice' | 'carol'): Promise<Record<string, () => boolean>> => {
    const open: Record<string, () => boolean> = {};
    for (const [index, at] of replicas.entries()) {
      const watch = await stream(at, as, `/api/kubernetes${configMaps}?watch=true`);
      const live = await stream(at, as, '/api/v2/resources/core/v1/configmaps/namespaces/shop?watch=true', 'text/event-stream');
      const exec = await upgrade(at, as, `${pod}/exec?command=sh&stdin=true`);
      const forward = await upgrade(at, as, `${pod}/portforward?ports=80`);
      open[`watch ${index}`] = () => watch.isOver;
      open[`live list ${index}`] = () => live.isOver;
      open[`exec ${index}`] = () => exec?.destroyed === true;
      open[`port-forward ${index}`] = () => forward?.destroyed === true;
    }
    return open;
  };
  const overOf = (open: Record<string, () => boolean>) => Object.keys(open).filter((name) => open[name]?.());

  it('JIT-16 cuts those of the request at each replica, and no others', async () => {
    echo(between);

    const [ofAlice] = [await granted('alice'), await granted('carol')];
    const [alice, carol] = [await openAll('alice'), await openAll('carol')];
    expect([overOf(alice), overOf(carol)]).to.deep.equal([[], []]);

    expect((await access.end({ as: 'alice' }, ofAlice)).body.status).to.include({ phase: 'Ended' });
    await eventually(
      () => overOf(alice),
      (over) => over.length === Object.keys(alice).length,
    );
    expect(overOf(carol)).to.deep.equal([]);
  });
});
