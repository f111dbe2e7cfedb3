/** Reviews of bindings on two replicas, and after the leader was killed in the middle of a round. */
import { expect } from 'chai';
import { z } from 'zod';
import { aRole, aBinding as aRoleBinding, podRule } from '../../service/access/objects.ts';
import type { Reviews } from '../../service/binding-reviews/support.ts';
import { aBinding, aNamespace, bindingsPath } from '../../service/bindings/support.ts';
import { asService, eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Installation } from './installation.ts';
import type { Replica } from './replica.ts';

const lease = 'atrium-binding-reviews';
const reviewsPath = '/apis/auth.platform.io/v1/bindingreviews';
const mergePatch = { 'content-type': 'application/merge-patch+json' };
const ofShop = { subjects: [{ kind: 'User', name: 'jane' }], roleRef: 'view', scope: 'namespace', constraint: [{ namespace: 'shop' }] };
const auditLine = z.looseObject({ audit: z.string(), target: z.string().optional(), reason: z.string().optional() });

describe('reviews of bindings on two replicas', () => {
  const service = forSuite(() => Installation.start({ features: { accessRequests: true } }));

  const two = (): [Replica, Replica] => {
    const [one, other] = service.replicas;
    if (one === undefined || other === undefined) throw new Error('there are not two replicas');
    return [one, other];
  };
  const hasLed = async (replica: Replica) => (await replica.log()).includes(`"lease":"${lease}","msg":"elected leader"`);
  /** Waits until a replica knows the bindings of a review. */
  const known = (at: Reviews, review: string, names: readonly string[]) =>
    eventually(
      () => at.bindings(review, 'admin'),
      (items) => names.every((name) => items.some(({ binding }) => (binding.userBinding ?? binding.name) === name)),
    );
  const find = (items: Awaited<ReturnType<typeof known>>, name: string) =>
    items.find(({ binding }) => (binding.userBinding ?? binding.name) === name) ?? expect.fail(`no ${name}`);
  const eventsOf = async (replica: Replica, review: string) =>
    (await replica.log())
      .split('\n')
      .filter((line) => line.startsWith('{"audit":"BindingReview'))
      .map((line) => auditLine.parse(JSON.parse(line)))
      .filter(({ target }) => target === review)
      .map(({ audit, reason }) => [audit, reason].filter(Boolean).join(' '));

  before(async () => {
    await service.admin.apply(
      aNamespace('shop'),
      aRole('reads', [podRule(['get'])]),
      ...['one', 'two', 'three', 'four'].map((name) => aRoleBinding(name, { role: 'reads', to: 'User:jane', namespace: 'shop' })),
    );
  });

  it('keep each answer of answers that both replicas take at the same time', async () => {
    const names = ['one', 'two', 'three', 'four'];
    await service.reviews().begin('shop');
    const at = two().map(({ url }) => service.reviews(url));
    const [items = []] = await Promise.all(at.map((reviews) => known(reviews, 'shop', names)));
    const answers = names.map((name, index) => {
      const { version } = find(items, name);
      return at[index % 2]?.answer('shop', { name, version, decision: 'Keep' }, 'admin');
    });
    expect((await Promise.all(answers)).map((answer) => answer?.status)).to.deep.equal([200, 200, 200, 200]);
    for (const reviews of at)
      await eventually(
        () => reviews.bindings('shop', 'admin'),
        (shown) => names.every((name) => find(shown, name).answer?.decision === 'Kept'),
      );
    const stored = await service.reviews().until('shop', ({ status }) => status?.answers?.length === names.length);
    expect(stored.status?.answers?.map(({ name }) => name)).to.have.members(names);
  });

  it('continue after the leader was killed: the kept binding stays, and the unanswered one ends once', async () => {
    await service.admin.apply(aBinding('kept', ofShop), aBinding('forgotten', { ...ofShop, subjects: [{ kind: 'User', name: 'omar' }] }));
    const [one, other] = two();
    await eventually(
      async () => (await hasLed(one)) || (await hasLed(other)),
      (isLed) => isLed,
    );
    const [leader, survivor] = (await hasLed(one)) ? [one, other] : [other, one];
    const reviews = service.reviews(survivor.url);
    for (const at of [reviews, service.reviews(leader.url)]) await known(at, 'shop', ['kept', 'forgotten']);
    const begun = await reviews.begin('ending', { unanswered: 'End' });
    await eventually(
      () => eventsOf(leader, 'ending'),
      ({ length }) => length === 1,
    );
    const { binding, version } = find(await known(reviews, 'ending', ['kept', 'forgotten']), 'kept');
    expect(await reviews.answer('ending', { name: binding.name, version, decision: 'Keep' }, 'admin')).to.include({ status: 200 });

    await service.killReplica(leader);
    // The time for answers is over while no replica leads. No mail server is set, so that the test stands for an owner who was told.
    const due = { status: { dueAt: begun.status?.openedAt, reminders: 1 } };
    const written = await service.admin.call('PATCH', `${reviewsPath}/ending/status`, due, { ...mergePatch, ...asService });
    expect(written.status, JSON.stringify(written.body)).to.equal(200);
    const stored = async (name: string) => (await service.admin.call('GET', `${bindingsPath}/${name}`)).status;
    await eventually(
      () => stored('forgotten'),
      (status) => status === 404,
    );
    expect(await hasLed(survivor)).to.equal(true);
    const over = await reviews.until('ending', ({ status }) => status?.phase === 'Overdue');
    expect(over.status).to.include({ round: 1 });
    expect(over.status?.answers?.map(({ decision, by }) => [decision, by])).to.have.deep.members([
      ['Kept', 'admin'],
      ['Ended', undefined],
    ]);
    expect(await stored('kept')).to.equal(200);
    expect(await eventsOf(survivor, 'ending')).to.deep.equal(['BindingReviewed Kept', 'BindingReviewed Unanswered']);
    expect(await eventsOf(leader, 'ending')).to.deep.equal(['BindingReviewReminded NotSent']);
  });
});
