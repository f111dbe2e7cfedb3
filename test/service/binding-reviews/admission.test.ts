/** Accounts that may write reviews, on the embedded cluster and, with TEST_CLUSTER=real, on an API server. */
import { expect } from 'chai';
import { apiServer } from '../../support/api-server.ts';
import { clientOf } from '../../support/client-of.ts';
import { asService, eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { aReview } from './support.ts';

const reviews = '/apis/auth.platform.io/v1/bindingreviews';
const mergePatch = { 'content-type': 'application/merge-patch+json' };

describe('the admission policy of binding reviews', () => {
  const cluster = forSuite(() => apiServer({ isReused: true }));
  const admin = clientOf(cluster, 'admin');
  /** May write reviews, and delete no UserBindings. */
  const manager = clientOf(cluster, 'manager');
  const kept = { answers: [{ name: 'readers', version: 'v', decision: 'Kept', by: 'admin', time: '2026-01-01T00:00:00Z' }] };

  before(async () => {
    await admin.install();
    await grant(admin, 'manager', 'atrium-access-admin');
    // A policy takes effect a moment after its creation.
    await eventually(
      () => manager.call('POST', `${reviews}?dryRun=All`, aReview('probe', { unanswered: 'End' })),
      ({ status }) => status === 403,
    );
    await admin.apply(aReview('shop'));
    await eventually(
      () => admin.call('PATCH', `${reviews}/shop/status?dryRun=All`, { status: { round: 1 } }, mergePatch),
      ({ status }) => status === 403,
    );
  });

  it('refuses a review that ends UserBindings of a writer who may not delete them', async () => {
    const { status, body } = await manager.call('POST', reviews, aReview('ending', { unanswered: 'End' }));
    expect(status).to.equal(403);
    expect(JSON.stringify(body)).to.include('cannot delete UserBindings');
    expect((await manager.call('POST', reviews, aReview('keeping'))).status).to.equal(201);
    const change = { spec: { unanswered: 'End' } };
    expect((await manager.call('PATCH', `${reviews}/keeping`, change, mergePatch)).status).to.equal(403);
    expect((await admin.call('PATCH', `${reviews}/keeping`, change, mergePatch)).status).to.equal(200);
    expect((await manager.call('PATCH', `${reviews}/keeping`, { spec: { answerSeconds: 1 } }, mergePatch)).status).to.equal(403);
    const labels = { metadata: { labels: { team: 'shop' } } };
    expect((await manager.call('PATCH', `${reviews}/keeping`, labels, mergePatch)).status).to.equal(200);
  });

  it('leaves the status to the service, also for administrators of the cluster', async () => {
    const written = () => admin.call('PATCH', `${reviews}/shop/status`, { status: kept }, mergePatch);
    expect((await written()).status).to.equal(403);
    const created = await admin.call('POST', reviews, { ...aReview('ahead'), status: kept });
    expect([created.status, Object.hasOwn(created.body as object, 'status')]).to.deep.equal([201, false]);
    const service = await admin.call('PATCH', `${reviews}/shop/status`, { status: kept }, { ...mergePatch, ...asService });
    expect(service.status).to.equal(200);
  });
});
