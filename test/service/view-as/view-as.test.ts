/** Views as another user in both modes, on the embedded cluster and, with TEST_CLUSTER=real, on an API server. */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { expect } from 'chai';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { asBob, bob, emailOf, kubernetes, listOfMaps as lists, mapsOf, namesOf, startViews, type Viewer } from './support.ts';

const selfReview = { method: 'POST', body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }) };
const whoAmI = `${kubernetes}/apis/authentication.k8s.io/v1/selfsubjectreviews`;

for (const credentials of ['passthrough', 'impersonate'] as const)
  describe(`views as another user, ${credentials}`, () => {
    const service = forSuite(() => startViews({ credentials }));
    before(() => service.untilCarolMayView());

    const identity = async (as: Viewer, headers: Record<string, string>) => {
      const response = await service.send(as, whoAmI, headers, selfReview);
      const { status } = (await response.json()) as { status: { userInfo: { username: string; uid?: string; groups: string[] } } };
      return status.userInfo;
    };

    it('show what the target sees, and nothing that only the caller sees', async () => {
      expect(await namesOf(await service.send('alice', mapsOf('shop'), asBob))).to.deep.equal(['of-shop']);
      expect(await service.outcome('alice', mapsOf('attic'), asBob)).to.deep.equal([403, undefined]);
      expect(await service.outcome('alice', mapsOf('shop'))).to.deep.equal([403, undefined]);
      expect(await namesOf(await service.send('alice', mapsOf('attic')))).to.deep.equal(['of-attic']);
    });

    it('hold for lists, namespaces and reviews of the service', async () => {
      expect(await namesOf(await service.send('alice', lists, asBob))).to.deep.equal(['of-shop']);
      expect(await namesOf(await service.send('alice', lists))).to.deep.equal(['of-attic']);
      const namespaces = '/auth/v1/namespaces?verb=list&resource=configmaps';
      const namesIn = async (headers: Record<string, string>) => {
        const { items } = (await (await service.send('alice', namespaces, headers)).json()) as { items: { metadata: { name: string } }[] };
        return items.map(({ metadata }) => metadata.name);
      };
      expect(await namesIn(asBob)).to.deep.equal(['shop']);
      expect(await namesIn({})).to.deep.equal(['attic']);
      const spec = { resourceAttributes: { verb: 'list', resource: 'configmaps', namespace: 'shop' } };
      const body = JSON.stringify({ kind: 'SelfSubjectAccessReview', spec });
      const allowed = async (headers: Record<string, string>) => {
        const response = await service.send('alice', '/auth/v1/selfsubjectaccessreviews', headers, { method: 'POST', body });
        return ((await response.json()) as { status: { allowed: boolean } }).status.allowed;
      };
      expect([await allowed(asBob), await allowed({}), await allowed(asBob)]).to.deep.equal([true, false, true]);
      expect((await service.send('alice', '/apis/auth.platform.io/v1/users', asBob)).status).to.equal(403);
      expect((await service.send('alice', '/api/v2/resources', asBob)).status).to.equal(200);
    });

    it('take groups and a uid, and a group alone', async () => {
      const groups = await identity('alice', { ...asBob, 'Impersonate-Group': 'crew', 'Impersonate-Uid': 'u-1' });
      expect(groups).to.deep.include({ username: bob, uid: 'u-1', groups: ['crew', 'system:authenticated'] });
      const group = { 'Impersonate-User': 'atrium:group-view', 'Impersonate-Group': 'crew' };
      expect(await namesOf(await service.send('alice', mapsOf('depot'), group))).to.deep.equal(['of-depot']);
    });

    it('name the three headers in Vary', async () => {
      for (const headers of [asBob, {}]) {
        const { headers: answered } = await service.send('alice', lists, headers);
        expect(answered.get('vary')).to.include('Impersonate-User, Impersonate-Group, Impersonate-Uid');
      }
    });

    it('VAS-01 are refused as system:masters, kubeadm:cluster-admins and accounts of the service', async () => {
      const account = `system:serviceaccount:${serviceNamespace}:atrium`;
      for (const headers of [
        { ...asBob, 'Atrium-View-As-Groups': '["crew","system:masters"]' },
        ...['system:masters', 'System:Masters', 'kubeadm:cluster-admins', `system:serviceaccounts:${serviceNamespace}`].map((group) => ({
          ...asBob,
          'Impersonate-Group': group,
        })),
        { 'Impersonate-User': account },
        { 'Impersonate-User': account.toUpperCase() },
        { 'Impersonate-User': 'system:masters' },
      ]) {
        expect(await service.outcome('alice', mapsOf('shop'), headers), JSON.stringify(headers)).to.deep.equal([403, 'ViewAsNotAllowed']);
        const asAdmin = { ...headers, Authorization: `Bearer ${await service.cluster.token('admin')}` };
        expect((await service.request(mapsOf('shop'), { headers: asAdmin })).status).to.equal(403);
      }
    });

    it('VAS-02 are refused for headers that are not one plain user, uid and groups', async () => {
      const long = Array.from({ length: 65 }, (_, index): [string, string] => ['Impersonate-Group', `g${index}`]);
      const cases: [string, string][][] = [
        [
          ['Impersonate-User', bob],
          ['Impersonate-User', emailOf('carol')],
        ],
        [['Impersonate-User', '']],
        [
          ['Impersonate-User', bob],
          ['Impersonate-Group', ''],
        ],
        [['Impersonate-Group', 'crew']],
        [['Impersonate-Uid', 'u-1']],
        [['Impersonate-User', 'b\u00fcb']],
        [
          ['Impersonate-User', bob],
          ['Impersonate-Uid', 'u-1'],
          ['Impersonate-Uid', 'u-2'],
        ],
        [
          ['Impersonate-User', bob],
          ['Impersonate-Extra-scopes', 'x'],
        ],
        [
          ['Impersonate-User', bob],
          ['Impersonate-Extra-atrium.platform.io%2Factor', 'root'],
        ],
        [['Impersonate-Scope', 'x']],
        [['Atrium-View-As-Groups', '["crew"]']],
        ...['crew', '{}', '[1]', '[""]', '["b\u00fc"]', '["system\\n:masters"]'].map((json): [string, string][] => [
          ['Impersonate-User', bob],
          ['Atrium-View-As-Groups', json],
        ]),
        [['Atrium-View-As-Write', bob]],
        [['Impersonate-User', bob], ...long],
      ];
      for (const lines of cases) expect(await rawStatus(lines), JSON.stringify(lines.slice(0, 3))).to.equal(400);
      expect(
        await rawStatus([
          ['Impersonate-User', bob],
          ['impersonate-group', 'crew'],
          ['IMPERSONATE-GROUP', 'a,b'],
        ]),
      ).to.equal(200);
    });

    it('VAS-02 take a comma as part of a group', async () => {
      const { groups } = await identity('alice', { ...asBob, 'Impersonate-Group': 'a,b' });
      expect(groups).to.include('a,b').and.not.to.include('a');
      const json = await identity('alice', { ...asBob, 'Atrium-View-As-Groups': '["crew","a,b"]' });
      expect(json.groups).to.deep.equal(['crew', 'a,b', 'system:authenticated']);
    });

    it('VAS-03 are refused without the right to each of user, group and uid, and never answered as the caller', async () => {
      for (const headers of [
        { 'Impersonate-User': emailOf('carol') },
        { ...asBob, 'Impersonate-Group': 'other' },
        { ...asBob, 'Impersonate-Uid': 'u-2' },
      ])
        for (const path of [mapsOf('attic'), lists, '/api/v2/resources', '/auth/v1/namespaces?verb=list&resource=configmaps'])
          expect(await service.outcome('alice', path, headers), JSON.stringify(headers)).to.deep.equal([403, 'ViewAsNotAllowed']);
      expect(await service.outcome('mallory', lists, asBob)).to.deep.equal([403, 'ViewAsNotAllowed']);
    });

    it('VAS-03 are limited to the kinds and verbs of constrained impersonation', async () => {
      expect(await namesOf(await service.send('carol', mapsOf('shop'), asBob))).to.deep.equal(['of-shop']);
      expect(await namesOf(await service.send('carol', lists, asBob))).to.deep.equal(['of-shop']);
      const secrets = `${kubernetes}/api/v1/namespaces/shop/secrets`;
      expect(await service.outcome('carol', secrets, asBob)).to.deep.equal([403, 'ViewAsNotAllowed']);
      expect((await service.send('bob', secrets)).status).to.equal(200);
    });

    it('VAS-04 stay apart from the requests of caller and target in 1,000 interleaved requests', async () => {
      const asked = [
        { as: 'alice', headers: asBob, shown: 'of-shop' },
        { as: 'alice', headers: {}, shown: 'of-attic' },
        { as: 'bob', headers: {}, shown: 'of-shop' },
        { as: 'alice', headers: { 'Impersonate-User': 'atrium:group-view', 'Impersonate-Group': 'crew' }, shown: 'of-depot' },
      ] as const;
      let mixed = 0;
      let next = 0;
      const work = async () => {
        for (let index = next++; index < 1000; index = next++) {
          const one = asked[(index * 7 + Math.floor(index / 4)) % 4] ?? asked[0];
          const names = await namesOf(await service.send(one.as, lists, one.headers));
          if (names.join() !== one.shown) mixed += 1;
        }
      };
      await Promise.all(Array.from({ length: 8 }, work));
      expect(mixed).to.equal(0);
    });

    it('VAS-04 do not share continue tokens or pages', async () => {
      const tokenFor = async (as: Viewer, headers: Record<string, string>) => {
        const { metadata } = (await (await service.send(as, `${lists}?limit=1`, headers)).json()) as { metadata: { continue: string } };
        return metadata.continue;
      };
      const ofView = await tokenFor('alice', asBob);
      const behind = (token: string) => `${lists}?limit=1&continue=${encodeURIComponent(token)}`;
      expect(ofView).to.not.equal('');
      expect((await service.send('alice', behind(ofView), asBob)).status).to.equal(200);
      expect((await service.send('bob', behind(ofView))).status).to.equal(400);
      expect((await service.send('alice', behind(await tokenFor('bob', {})), asBob)).status).to.equal(400);
    });

    it('VAS-06 refuse every write, whatever it names, and every upgrade', async () => {
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'new' } });
      for (const named of [{}, { 'Atrium-View-As-Write': bob }])
        expect(await service.outcome('alice', mapsOf('shop'), { ...asBob, ...named }, { method: 'POST', body })).to.deep.equal([
          403,
          'ViewAsReadOnly',
        ]);
      const pod = `${kubernetes}/api/v1/namespaces/shop/pods/x`;
      for (const subresource of ['exec', 'attach', 'portforward', 'proxy/'])
        expect((await service.send('alice', `${pod}/${subresource}`, asBob)).status, subresource).to.equal(403);
      expect((await service.send('alice', `${mapsOf('shop')}/new`, asBob)).status).to.equal(404);
    });

    it('VAS-10 are recorded with both users: refusals each time, reads once', async () => {
      await service.outcome('mallory', mapsOf('shop'), asBob);
      const refused = service.auditOf('ViewAsRefused').filter(({ actor }) => actor.name === emailOf('mallory'));
      expect(refused.at(-1)).to.deep.include({ target: bob, outcome: 'failure', reason: 'ViewAsNotAllowed', code: 403 });
      const reads = service
        .auditOf('ViewedAs')
        .filter(({ actor, target, reason }) => actor.name === emailOf('carol') && target === bob && reason === 'Read');
      expect(reads).to.have.length(1);
      await eventually(
        () => service.lines.filter((line) => line.includes('"viewedAs":"bob@example.com"')),
        (lines) => lines.some((line) => line.includes(`"user":"${emailOf('alice')}"`)),
      );
    });

    /** Sends header lines as they are, of which `fetch` would join some. */
    async function rawStatus(lines: readonly [string, string][]): Promise<number> {
      const { port } = new URL(service.url);
      const socket = connect({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const head = [
        `GET ${mapsOf('shop')} HTTP/1.1`,
        `Host: 127.0.0.1:${port}`,
        'Connection: close',
        `Authorization: Bearer ${service.tokens.alice}`,
        ...lines.map(([name, value]) => `${name}: ${value}`),
      ];
      socket.write(Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'));
      const [first] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return Number(first.toString('latin1').split(' ')[1]);
    }
  });
