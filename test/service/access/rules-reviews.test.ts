import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { refusal } from './review-answers.ts';

const rules = z.array(z.unknown());
const rulesReview = z.looseObject({ status: z.looseObject({ resourceRules: rules, nonResourceRules: rules }) });
/** The status of a SelfSubjectRulesReview. kube-apiserver gives the rules in any order. */
function sortedRules(answered: unknown) {
  const { status: given } = rulesReview.parse(answered);
  const sorted = (list: unknown[]) => list.map((rule) => JSON.stringify(rule)).sort();
  return { ...given, resourceRules: sorted(given.resourceRules), nonResourceRules: sorted(given.nonResourceRules) };
}

describe('POST /auth/v1/selfsubjectrulesreviews', () => {
  const server = forSuite(() => startServer());
  const path = '/auth/v1/selfsubjectrulesreviews';
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace: 'default' } };

  const refuse = async (given: unknown) => refusal(await server.request(path, { method: 'POST', as: 'viewer', body: given }));
  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await eventually(
      async () => (await server.request('/auth/v1/users', { as: 'viewer' })).status,
      (status) => status === 200,
    );
  });

  it('returns the answer of the API server', async () => {
    for (const as of ['admin', 'viewer', 'nobody'] as const) {
      const response = await server.request(path, { method: 'POST', as, body });
      const authorization = `Bearer ${await server.token(as)}`;
      const direct = await server.kubernetes.call('POST', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', body, {
        authorization,
      });

      expect(response.status, as).to.equal(201);
      const answered = z
        .looseObject({ apiVersion: z.string(), kind: z.string(), spec: z.unknown(), status: z.unknown() })
        .parse(await response.json());
      expect(answered).to.deep.include({
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectRulesReview',
        spec: { namespace: 'default' },
      });
      expect(sortedRules(answered), as).to.deep.equal(sortedRules(direct.body));
    }
  });

  it('refuses the bodies that the API server refuses, and a wrong type before the call', async () => {
    expect((await refuse({ spec: {} })).code).to.equal(400);
    expect(await refuse({ spec: { namespace: 1 } })).to.deep.equal({ code: 400, reason: 'BadRequest', fields: ['spec.namespace'] });
    expect(await refuse({ kind: 'Pod', spec: {} })).to.deep.equal({ code: 400, reason: 'BadRequest', fields: ['kind'] });
    expect((await server.request(path, { method: 'POST', body })).status).to.equal(401);
    expect((await server.request(path, { method: 'POST', body, token: 'garbage' })).status).to.equal(401);
  });
});
