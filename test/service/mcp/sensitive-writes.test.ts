/** Writes that make a credential or a right, with the credential of an agent. No door accepts it there: the rules of the writes do not either. */
import { expect } from 'chai';
import { z } from 'zod';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { applyKnown } from '../bindings/support.ts';
import { chief, type Guarded, guarded, jane } from '../openapi/guarded-writes.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { startDoor } from './support.ts';

const status = z.object({ code: z.int(), details: z.object({ causes: z.array(z.object({ reason: z.string() })) }) });

const areq = `areq-${'0'.repeat(16)}`;
const decision = (operation: string, ...request: Guarded['request']) => ({ operation, request, token: 'AccessTokenNotAllowed' as const });

/** Writes of access requests and reviews, which the other table lacks. */
const decisions = [
  decision('DecideAccessRequest', 'POST', `/auth/v1/accessrequests/${areq}/decision`, { approve: true }),
  decision('EndAccessRequest', 'POST', `/auth/v1/accessrequests/${areq}/end`),
  decision('ReviewAccessRequest', 'POST', `/auth/v1/accessrequests/${areq}/review`, { comment: 'seen' }),
  decision('AnswerBindingReview', 'POST', '/auth/v1/bindingreviews/a-review/answers', { name: 'a-binding', version: '', decision: 'Keep' }),
];

describe('a sensitive write by an agent', () => {
  const door = forSuite(async () => {
    const stepUp = { operations: [] };
    const config = { features: { accessRequests: true }, login: { stepUp }, kubernetes: { credentials: 'impersonate' } };
    const started = await startDoor({ [chief]: { user: nameOf(chief) } }, { config }, () => true);
    await started.kubernetes.apply(clusterRoleBinding('chief', 'cluster-admin', { kind: 'User', name: chief }));
    await applyKnown(started, aUser(chief), aUser(jane));
    return started;
  });

  for (const { operation, request, token } of [...guarded, ...decisions])
    it(`is refused: ${operation} ${request[1].slice(0, 60)}`, async () => {
      const answer = await door.asAgent(chief, ...request);
      const text = await answer.text();
      expect(answer.status, text).to.equal(403);
      const reason = token === 'AccessTokenNotAllowed' ? 'AgentNotAllowed' : 'StepUpNotPossible';
      expect(status.parse(JSON.parse(text)).details.causes[0]?.reason).to.equal(reason);
    });

  it('is refused by its rule, while the same user may read', async () => {
    const answer = await door.asAgent(chief, 'GET', `/auth/v1/users/${nameOf(jane)}`);
    expect(answer.status, await answer.text()).to.equal(200);
  });
});
