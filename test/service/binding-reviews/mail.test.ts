/** Mail that reminds owners of a review. */
import { expect } from 'chai';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole, bindingPath, podRule } from '../access/objects.ts';
import { applyKnown, aBinding as aUserBinding, bindingsPath } from '../bindings/support.ts';
import { MailServer } from '../one-time-links/mail-server.ts';
import { ServiceAuthority } from '../plugins/plugin-service.ts';
import { aUser } from '../users/a-user.ts';
import { Reviews } from './support.ts';

const ofShop = { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'namespace', constraint: [{ namespace: 'shop' }] };

describe('mail about a review of bindings', () => {
  const free = forSuite(
    async () => ({ port: await freePort(), ...(await (await ServiceAuthority.create()).issue('localhost')) }),
    () => undefined,
  );
  const mailServer = forSuite(
    () => MailServer.start({ port: free.port, key: free.key, cert: free.cert, offersTLS: false }),
    (one) => one.stop(),
  );
  let ahead = 0;
  const server = forSuite(() =>
    startServer({
      now: () => new Date(Date.now() + ahead),
      config: {
        features: { accessRequests: true },
        server: { publicURL: 'https://console.example.com' },
        smtp: { host: '127.0.0.1', port: free.port, tls: 'none', from: 'Atrium <no-reply@example.com>' },
      },
    }),
  );

  before(async () => {
    const rules = [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs: ['get', 'list', 'update'] }];
    await server.kubernetes.apply(
      aNamespace('shop'),
      aNamespace('vault'),
      aRole('reads', [podRule(['get'])]),
      aRole('binding-owner', rules),
      aBinding('owners', { role: 'binding-owner', to: ['User:alice', 'Group:platform'], namespace: 'shop' }),
      aBinding('readers', { role: 'reads', to: 'User:viewer', namespace: 'shop' }),
    );
    await applyKnown(
      server,
      aUser('alice@example.com', { subjectName: 'alice' }),
      aUser('bob@example.com', { subjectName: 'bob', groups: ['platform'] }),
      aUser('viewer@example.com', { subjectName: 'viewer' }),
    );
    await eventually(
      () =>
        server
          .request('/auth/v1/accesssubjects?verb=update&group=rbac.authorization.k8s.io&resource=rolebindings&namespace=shop', {
            as: 'admin',
          })
          .then((answer) => answer.text()),
      (text) => text.includes('"alice"') && text.includes('"bob"'),
    );
  });

  it('goes to the users who may update the bindings, and to members of their groups', async () => {
    await new Reviews(server).begin('shop');
    const mails = await eventually(
      async () => mailServer.mails,
      (taken) => taken.length >= 2,
    );
    expect(mails.flatMap(({ to }) => to).sort()).to.deep.equal(['alice@example.com', 'bob@example.com']);
    for (const { body, link } of mails) {
      expect(body).to.include('Bindings in shop wait for an answer of their owners');
      expect(link).to.equal('https://console.example.com/explorer/standing');
    }
  });

  it('does not lead to the end of a UserBinding while the admission policy of reviews is missing', async () => {
    const reviews = new Reviews(server);
    const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/bindingreviews.auth.platform.io';
    const { metadata: _metadata, ...policy } = (await server.kubernetes.call('GET', path)).body as Manifest;
    await server.kubernetes.remove(path);
    await server.kubernetes.apply(aUserBinding('guarded', ofShop));
    await eventually(
      () => reviews.bindings('shop', 'alice'),
      (items) => items.some(({ binding }) => binding.userBinding === 'guarded'),
    );
    const begun = await reviews.begin('unguarded', { unanswered: 'End', answerSeconds: 100_000 });
    await eventually(
      async () => Date.now(),
      (now) => now >= Date.parse(begun.status?.openedAt ?? '') + 1000,
    );
    await reviews.until('unguarded', ({ status }) => (status?.reminders ?? 0) > 0);
    ahead += 110_000_000;
    await reviews.touch('unguarded', 'over');
    await eventually(
      async () => server.logLines.filter((line) => line.includes('bindingreviews.auth.platform.io or its binding is not active')),
      (lines) => lines.length > 0,
    );
    expect(await stored('guarded')).to.equal(200);
    expect((await reviews.until('unguarded', () => true)).status?.answers ?? []).to.deep.equal([]);

    await server.kubernetes.apply({ ...policy, metadata: { name: 'bindingreviews.auth.platform.io' } });
    await eventually(
      () => stored('guarded'),
      (status) => status === 404,
    );
    await server.kubernetes.remove('/apis/auth.platform.io/v1/bindingreviews/unguarded');
    ahead = 0;
  });

  it('is followed by the end of unanswered UserBindings of its namespace alone, once they are due', async () => {
    const reviews = new Reviews(server);
    await server.kubernetes.apply(
      aUserBinding('only-shop', ofShop),
      aUserBinding('shop-and-vault', { ...ofShop, constraint: [{ namespace: 'shop' }, { namespace: 'vault' }] }),
      aUserBinding('in-effect-later', { ...ofShop, notBefore: new Date(Date.now() + 50_000_000).toISOString() }),
    );
    await eventually(
      () => reviews.bindings('shop', 'alice'),
      (items) => items.filter(({ binding }) => binding.userBinding !== undefined).length === 2,
    );
    const begun = await reviews.begin('ending', { unanswered: 'End', answerSeconds: 100_000 });
    // Times of objects have whole seconds.
    await eventually(
      async () => Date.now(),
      (now) => now >= Date.parse(begun.status?.openedAt ?? '') + 1000,
    );
    ahead += 60_000_000;
    await reviews.touch('ending', 'half');
    await reviews.until('ending', ({ status }) => status?.reminders === 2);
    await server.kubernetes.apply(aUserBinding('late', { ...ofShop, roleRef: 'edit' }));
    // The controller of UserBindings does not see that the clock has jumped.
    await change('in-effect-later', { subjects: [{ kind: 'User', name: 'omar' }] });
    await eventually(
      () => reviews.bindings('shop', 'alice'),
      (items) => ['late', 'in-effect-later'].every((name) => items.some(({ binding }) => binding.userBinding === name)),
    );
    ahead += 60_000_000;
    await reviews.touch('ending', 'over');
    const over = await reviews.until('ending', ({ status }) => status?.phase === 'Overdue');
    expect(over.status?.answers?.map(({ decision, by }) => ({ decision, by }))).to.deep.equal([{ decision: 'Ended', by: undefined }]);
    const left = async (name: string) => (await server.kubernetes.call('GET', `${bindingsPath}/${name}`)).status;
    await eventually(
      () => left('only-shop'),
      (status) => status === 404,
    );
    expect([await left('shop-and-vault'), await left('late'), await left('in-effect-later')]).to.deep.equal([200, 200, 200]);
    expect((await server.kubernetes.call('GET', bindingPath('readers', 'shop'))).status).to.equal(200);
    const audited = server.auditLines.map(
      (line) => JSON.parse(line) as { audit: string; target?: string; outcome: string; reason?: string },
    );
    const reminders = audited.filter(({ audit, target }) => audit === 'BindingReviewReminded' && target === 'ending');
    expect(reminders.map(({ outcome }) => outcome)).to.deep.equal(['success', 'success']);
    expect(
      audited.filter(({ audit, target, reason }) => audit === 'BindingReviewed' && target === 'ending' && reason === 'Unanswered'),
    ).to.have.length(1);
  });

  it('leaves a UserBinding that changes after an owner kept it, or that becomes standing after the round', async () => {
    const reviews = new Reviews(server);
    const inAMonth = new Date(Date.now() + 30 * 86_400_000).toISOString();
    await server.kubernetes.apply(
      aUserBinding('grown', ofShop),
      aUserBinding('made-lasting', { ...ofShop, roleRef: 'edit', expiresAt: inAMonth }),
    );
    const named = (name: string) => async () =>
      (await reviews.bindings('shop', 'alice')).find(({ binding }) => binding.userBinding === name);
    const grown = await eventually(named('grown'), (item) => item !== undefined);
    await reviews.begin('changing', { unanswered: 'End', answerSeconds: 100_000 });
    const kept = { name: grown?.binding.name, version: grown?.version, decision: 'Keep' };
    expect((await reviews.answer('changing', kept, 'alice')).status).to.equal(200);
    ahead += 95_000_000;
    await reviews.touch('changing', 'last');
    await reviews.until('changing', ({ status }) => status?.reminders === 2);
    await change('grown', { subjects: [...ofShop.subjects, { kind: 'User', name: 'omar' }] });
    await eventually(named('grown'), (item) => item !== undefined && item.version !== grown?.version);
    ahead += 10_000_000;
    await reviews.touch('changing', 'over');
    const over = await reviews.until('changing', ({ status }) => status?.phase === 'Overdue');
    expect(await stored('grown')).to.equal(200);

    await change('made-lasting', { expiresAt: null });
    const added = await eventually(named('made-lasting'), (item) => item !== undefined);
    await reviews.touch('changing', 'later');
    const later = await reviews.until('changing', ({ status }) => status?.open !== over.status?.open);
    expect([later.status?.phase, later.status?.open]).to.deep.equal(['Overdue', (over.status?.open ?? 0) + 1]);
    expect(later.status?.answers?.map(({ name }) => name)).not.to.include(added?.binding.name);
    expect(await stored('made-lasting')).to.equal(200);
  });

  const stored = async (name: string) => (await server.kubernetes.call('GET', `${bindingsPath}/${name}`)).status;
  const change = (name: string, spec: object) =>
    server.kubernetes.call('PATCH', `${bindingsPath}/${name}`, { spec }, { 'content-type': 'application/merge-patch+json' });
});
