import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, accountToken, aNamespace, aRole, bindingPath, podRule } from '../access/objects.ts';
import { aBinding as aUserBinding, bindingsPath, grantBinding } from '../bindings/support.ts';
import { Reviews } from './support.ts';

const ofShop = { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'namespace', constraint: [{ namespace: 'shop' }] };

describe('a review of bindings', () => {
  let ahead = 0;
  const server = forSuite(() => startServer({ config: { features: { accessRequests: true } }, now: () => new Date(Date.now() + ahead) }));
  let reviews: Reviews;

  const auditOf = (name: string) =>
    server.auditLines
      .map(
        (line) => JSON.parse(line) as { audit: string; target?: string; outcome: string; reason?: string; binding?: string; code?: number },
      )
      .filter(({ audit }) => audit === name);

  before(async () => {
    reviews = new Reviews(server);
    await server.kubernetes.apply(
      aNamespace('shop'),
      aNamespace('vault'),
      aRole('reads', [podRule(['get', 'list'])]),
      aRole('binding-owner', [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs: ['get', 'list', 'update', 'delete'] },
      ]),
      aBinding('owner-of-shop', { role: 'binding-owner', to: ['User:alice', 'User:carol'], namespace: 'shop' }),
      aBinding('owner-of-vault', { role: 'binding-owner', to: 'User:bob', namespace: 'vault' }),
      aBinding('readers', { role: 'reads', to: 'User:jane', namespace: 'shop' }),
      aBinding('robots', { role: 'reads', to: 'ServiceAccount:shop/robot', namespace: 'shop' }),
      aBinding('readers', { role: 'reads', to: 'User:jane', namespace: 'vault' }),
    );
  });

  it('opens with the standing bindings of its namespace that name people', async () => {
    const { status } = await reviews.begin('shop');
    expect(status).to.include({ phase: 'Open', round: 1, reminders: 0, reminderAttempts: 1 });
    await reviews.binding('shop', 'readers', 'alice');
    const items = await reviews.bindings('shop', 'alice');
    expect(items.map(({ binding }) => `${binding.namespace}/${binding.name}`)).to.deep.equal(['shop/owner-of-shop', 'shop/readers']);
    expect(items.map(({ isOwn }) => isOwn)).to.deep.equal([true, false]);
  });

  it('is hidden from callers who may not list the bindings of its place', async () => {
    const listed = async (as: 'alice' | 'bob' | 'nobody') => {
      const list = (await (await server.request('/auth/v1/bindingreviews', { as })).json()) as { items: { metadata: { name: string } }[] };
      return list.items.map(({ metadata }) => metadata.name);
    };
    expect(await listed('alice')).to.include('shop');
    expect(await listed('bob')).not.to.include('shop');
    expect(await listed('nobody')).to.deep.equal([]);
    for (const path of ['', '/bindings']) {
      expect((await server.request(`/auth/v1/bindingreviews/shop${path}`, { as: 'alice' })).status).to.equal(200);
      expect((await server.request(`/auth/v1/bindingreviews/shop${path}`, { as: 'bob' })).status).to.equal(404);
    }
  });

  it('keeps a binding by an owner, until the binding changes', async () => {
    const { version } = await reviews.binding('shop', 'readers', 'alice');
    const { status, body } = await reviews.answer('shop', { name: 'readers', version, decision: 'Keep' }, 'alice');
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.status?.answers?.map(({ name, decision, by }) => ({ name, decision, by }))).to.deep.equal([
      { name: 'readers', decision: 'Kept', by: 'alice' },
    ]);
    await reviews.until('shop', (review) => review.status?.open === 1);
    expect((await reviews.binding('shop', 'readers', 'alice')).answer).to.include({ decision: 'Kept', by: 'alice' });

    await server.kubernetes.apply(aBinding('readers', { role: 'reads', to: ['User:jane', 'User:mallory'], namespace: 'shop' }));
    const later = await eventually(
      () => reviews.binding('shop', 'readers', 'alice'),
      (item) => item.version !== version,
    );
    expect(later).not.to.have.property('answer');
    const outdated = await reviews.answer('shop', { name: 'readers', version, decision: 'Keep' }, 'alice');
    expect(outdated).to.deep.include({ status: 409 });
  });

  it('is not answered by an owner of another namespace, a reader of bindings, or a stranger', async () => {
    await server.kubernetes.apply(
      aRole('binding-reader', [{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['rolebindings'], verbs: ['get', 'list'] }]),
      aBinding('reader-of-bindings', { role: 'binding-reader', to: 'User:viewer', namespace: 'shop' }),
    );
    const { version } = await reviews.binding('shop', 'readers', 'alice');
    for (const decision of ['Keep', 'End']) {
      const body = { name: 'readers', version, decision };
      expect((await reviews.answer('shop', body, 'bob')).status).to.equal(404);
      expect((await reviews.answer('shop', body, 'nobody')).status).to.equal(404);
      expect((await reviews.answer('shop', body, 'viewer')).status).to.equal(403);
    }
    expect((await server.kubernetes.call('GET', bindingPath('readers', 'shop'))).status).to.equal(200);
  });

  it('refuses an owner who keeps a binding that names them', async () => {
    const { version } = await reviews.binding('shop', 'owner-of-shop', 'alice');
    const { status, body } = await reviews.answer('shop', { name: 'owner-of-shop', version, decision: 'Keep' }, 'alice');
    expect([status, body.details?.causes?.map(({ reason }) => reason)]).to.deep.equal([403, ['OwnBinding']]);
  });

  it('refuses a ServiceAccount that keeps a binding that names it', async () => {
    const token = await accountToken(server.kubernetes, 'shop', 'keeper');
    await server.kubernetes.apply(
      aBinding('keepers', { role: 'binding-owner', to: ['ServiceAccount:shop/keeper', 'User:jane'], namespace: 'shop' }),
    );
    const { version } = await reviews.binding('shop', 'keepers', 'alice');
    const { status, body } = await reviews.answer('shop', { name: 'keepers', version, decision: 'Keep' }, 'alice', { token });
    expect([status, body.details?.causes?.map(({ reason }) => reason)]).to.deep.equal([403, ['OwnBinding']]);
    await server.kubernetes.remove(bindingPath('keepers', 'shop'));
  });

  it('refuses bad answers without a change', async () => {
    const { version } = await reviews.binding('shop', 'readers', 'alice');
    const before = await reviews.until('shop', () => true);
    const bad: [unknown, number][] = [
      [{ name: 'no-such-binding', version, decision: 'Keep' }, 404],
      [{ name: 'readers', version: 'x', decision: 'End' }, 409],
      [{ name: 'readers', version, decision: 'Approve' }, 400],
      [{ name: 'readers', version, decision: 'Keep', by: 'admin' }, 400],
      [{ name: '', version, decision: 'Keep' }, 400],
      [{ name: 'x'.repeat(1024 * 1024), version, decision: 'Keep' }, 413],
      [[], 400],
    ];
    for (const [body, code] of bad)
      expect((await reviews.answer('shop', body, 'alice')).status, JSON.stringify(body).slice(0, 80)).to.equal(code);
    expect((await reviews.until('shop', () => true)).status?.answers).to.deep.equal(before.status?.answers);
  });

  it('ends a binding with the rights of its owner, and tells who did', async () => {
    await server.kubernetes.apply(aBinding('leavers', { role: 'reads', to: 'User:jane', namespace: 'shop' }));
    const { version } = await reviews.binding('shop', 'leavers', 'alice');
    const { status, body } = await reviews.answer('shop', { name: 'leavers', version, decision: 'End' }, 'alice');
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.status?.answers?.at(-1)).to.include({ name: 'leavers', decision: 'Ended', by: 'alice' });
    expect((await server.kubernetes.call('GET', bindingPath('leavers', 'shop'))).status).to.equal(404);
    expect(auditOf('BindingReviewed').at(-1)).to.deep.include({
      ...{ target: 'shop', reason: 'Ended', binding: 'RoleBinding/shop/leavers', code: 200 },
    });
  });

  it('shortens the UserBinding of a binding, and refuses an end for other bindings', async () => {
    await grantBinding(server.kubernetes, ['view']);
    await server.kubernetes.apply(
      aBinding('owner-too', { role: 'binding-owner', to: 'User:manager', namespace: 'shop' }),
      aUserBinding('shortened', ofShop),
    );
    const items = await eventually(
      () => reviews.bindings('shop', 'alice'),
      (found) => found.some(({ binding }) => binding.userBinding === 'shortened'),
    );
    const { binding, version } = items.find((item) => item.binding.userBinding === 'shortened') ?? expect.fail('no binding');
    const until = new Date(Math.ceil(Date.now() / 1000) * 1000 + 86_400_000).toISOString().replace('.000Z', 'Z');
    const given = { name: binding.name, version, decision: 'Shorten', until };
    const tomorrow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
    const readers = await reviews.binding('shop', 'readers', 'alice');
    const refused: [object, number][] = [
      [{ ...given, until: undefined }, 422],
      [{ ...given, until: tomorrow(-1) }, 422],
      [{ ...given, until: tomorrow(400) }, 422],
      [{ ...given, until: 'tomorrow' }, 400],
      [{ ...given, decision: 'End' }, 422],
      [{ ...given, name: 'readers', version: readers.version }, 422],
    ];
    for (const [body, code] of refused) expect((await reviews.answer('shop', body, 'manager')).status, JSON.stringify(body)).to.equal(code);
    const stored = async () => (await server.kubernetes.call('GET', `${bindingsPath}/shortened`)).body as { spec: { expiresAt?: string } };
    expect((await stored()).spec).not.to.have.property('expiresAt');
    const { status, body } = await reviews.answer('shop', given, 'manager');
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.status?.answers?.at(-1)).to.include({ decision: 'Shortened', by: 'manager', until });
    expect((await stored()).spec.expiresAt).to.equal(until);
    expect(auditOf('BindingReviewed').at(-1)).to.include({ reason: 'Shortened' });
    await server.kubernetes.remove(`${bindingsPath}/shortened`);
  });

  it('ends a binding that only its label gives to a UserBinding, and leaves the UserBinding', async () => {
    const admin = aBinding('owner-of-all', { role: 'cluster-admin', to: 'User:manager' });
    const forged = aBinding('forged', { role: 'reads', to: 'User:jane', namespace: 'shop' });
    await server.kubernetes.apply(admin, aUserBinding('of-others', { ...ofShop, subjects: [{ kind: 'User', name: 'omar' }] }));
    await eventually(
      () => reviews.bindings('shop', 'alice'),
      (items) => items.some(({ binding }) => binding.userBinding === 'of-others'),
    );
    const labels = { 'auth.platform.io/userbinding': 'of-others' };
    await server.kubernetes.apply({ ...forged, metadata: { ...forged.metadata, labels } });
    const { version, binding } = await reviews.binding('shop', 'forged', 'manager');
    expect(binding).not.to.have.property('userBinding');
    const { status, body } = await reviews.answer('shop', { name: 'forged', version, decision: 'End' }, 'manager');
    expect(status, JSON.stringify(body)).to.equal(200);
    expect((await server.kubernetes.call('GET', bindingPath('forged', 'shop'))).status).to.equal(404);
    expect((await server.kubernetes.call('GET', `${bindingsPath}/of-others`)).status).to.equal(200);
    await server.kubernetes.remove(`${bindingsPath}/of-others`);
  });

  it('ends nothing while no reminder has reached an owner, and says why', async () => {
    await server.kubernetes.apply(aUserBinding('untold', ofShop));
    await eventually(
      () => reviews.bindings('shop', 'alice'),
      (items) => items.some(({ binding }) => binding.userBinding === 'untold'),
    );
    const begun = await reviews.begin('untold', { unanswered: 'End', answerSeconds: 100_000 });
    // Times of objects have whole seconds.
    await eventually(
      async () => Date.now(),
      (now) => now >= Date.parse(begun.status?.openedAt ?? '') + 1000,
    );
    ahead += 60_000_000;
    await reviews.touch('untold', 'half');
    await reviews.until('untold', ({ status }) => status?.reminderAttempts === 2);
    ahead += 60_000_000;
    await reviews.touch('untold', 'over');
    const { status } = await reviews.until('untold', (review) => review.status?.phase === 'Overdue');
    expect(status).to.include({ reminders: 0, reminderAttempts: 2, reminderFailure: 'NoMailServer' });
    expect(status?.answers).to.deep.equal([]);
    expect((await server.kubernetes.call('GET', `${bindingsPath}/untold`)).status).to.equal(200);
    const reminders = auditOf('BindingReviewReminded').filter(({ target }) => target === 'untold');
    expect(reminders.map(({ outcome, reason }) => [outcome, reason])).to.deep.equal([
      ['failure', 'NotSent'],
      ['failure', 'NotSent'],
    ]);
    await server.kubernetes.remove(`${bindingsPath}/untold`);
  });

  it('begins another round, in which each binding is unanswered again', async () => {
    await reviews.begin('again', { answerSeconds: 10, everySeconds: 1000 });
    const { version } = await reviews.binding('again', 'readers', 'alice');
    expect((await reviews.answer('again', { name: 'readers', version, decision: 'Keep' }, 'alice')).status).to.equal(200);
    ahead += 2_000_000;
    await reviews.touch('again', 'next');
    const { status } = await reviews.until('again', (review) => review.status?.round === 2 && review.status.open !== undefined);
    expect(status?.answers).to.deep.equal([]);
    expect(await reviews.binding('again', 'readers', 'alice')).not.to.have.property('answer');
  });
});
