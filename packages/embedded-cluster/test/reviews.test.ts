import { Rbac } from '@atrium/embedded-cluster/rbac.ts';
import { createReview, createSelfSubjectReview, createTokenReview } from '@atrium/embedded-cluster/reviews.ts';
import { TokenIssuer, type UserInfo } from '@atrium/embedded-cluster/tokens.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { expect } from 'chai';

const ada: UserInfo = { username: 'ada', uid: '1', groups: ['staff', 'system:authenticated'], extra: { team: ['blue'] } };
const objects = {
  roles: [],
  rolebindings: [],
  clusterroles: [
    {
      metadata: { name: 'viewer' },
      rules: [
        { verbs: ['get', 'list'], apiGroups: ['apps'], resources: ['deployments'] },
        { verbs: ['get'], nonResourceURLs: ['/metrics'] },
      ],
    },
  ],
  clusterrolebindings: [
    { metadata: { name: 'viewers' }, roleRef: { kind: 'ClusterRole', name: 'viewer' }, subjects: [{ kind: 'User', name: 'ada' }] },
  ],
};
const rbac = new Rbac({ list: (resource) => objects[resource], revision: () => 1 });
const REASON = 'RBAC: allowed by ClusterRoleBinding "viewers" of ClusterRole "viewer" to User "ada"';

type Resource = Parameters<typeof createReview>[0];
const review = (resource: Resource, body: unknown, user = ada) => createReview(resource, { rbac, user, namespace: undefined }, body);

/** Returns the Status of a refused call. */
function refusal(call: () => unknown) {
  try {
    call();
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  throw new Error('it was not refused');
}

const causes = (resource: Resource, body: unknown) => {
  const status = refusal(() => review(resource, body));
  expect(status).to.include({ code: 422, reason: 'Invalid' });
  expect(status.message).to.match(/^\.authorization\.k8s\.io "" is invalid: /);
  return status.details?.causes?.map(({ field, message }) => `${field}: ${message}`);
};

describe('access reviews of the embedded cluster', () => {
  const resourceAttributes = { namespace: 'shop', verb: 'list', group: 'apps', version: 'v1', resource: 'deployments' };

  it('say whether the caller may, and by which binding', () => {
    expect(review('selfsubjectaccessreviews', { spec: { resourceAttributes } })).to.deep.equal({
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec: { resourceAttributes },
      status: { allowed: true, reason: REASON },
    });
  });

  it('leave out empty fields, and fields that were not asked for', () => {
    const body = { spec: { resourceAttributes: { verb: 'get', group: '', name: null, color: 'red' } }, status: { allowed: true } };

    expect(review('selfsubjectaccessreviews', body)).to.deep.include({
      spec: { resourceAttributes: { verb: 'get' } },
      status: { allowed: false },
    });
  });

  it('answer about paths', () => {
    const about = (path: string) => review('selfsubjectaccessreviews', { spec: { nonResourceAttributes: { verb: 'get', path } } });

    expect(about('/metrics')).to.deep.include({ status: { allowed: true, reason: REASON } });
    expect(about('/')).to.deep.include({ status: { allowed: false } });
  });

  it('AUZ-02 do not let the caller be another user', () => {
    const spec = { resourceAttributes, user: 'ada', groups: ['system:masters'] };
    const eve = { username: 'eve', uid: '2', groups: [] };

    expect(review('selfsubjectaccessreviews', { spec }, eve)).to.deep.include({ spec: { resourceAttributes }, status: { allowed: false } });
    const asOther = { kind: 'SubjectAccessReview', apiVersion: 'authorization.k8s.io/v1', spec };
    expect(refusal(() => review('selfsubjectaccessreviews', asOther, eve))).to.include({ code: 400, reason: 'BadRequest' });
  });

  it('AUZ-03 require exactly one kind of attributes', () => {
    expect(causes('selfsubjectaccessreviews', { spec: {} })).to.deep.equal([
      'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    ]);
    expect(causes('selfsubjectaccessreviews', {})).to.have.length(1);
    expect(causes('selfsubjectaccessreviews', { spec: { resourceAttributes: {}, nonResourceAttributes: { path: '/x' } } })).to.deep.equal([
      'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":""}: cannot be specified in combination with resourceAttributes',
    ]);
  });

  it('AUZ-03 refuse members of a wrong type', () => {
    for (const spec of [
      7,
      [],
      { resourceAttributes: 'x' },
      { resourceAttributes: { verb: 1 } },
      { resourceAttributes: { fieldSelector: [] } },
      { nonResourceAttributes: { path: {} } },
    ]) {
      const status = refusal(() => review('selfsubjectaccessreviews', { spec }));
      expect(status).to.include({ code: 400, reason: 'BadRequest' });
      expect(status.message).to.match(/^SelfSubjectAccessReview in version "v1" cannot be handled as a SelfSubjectAccessReview: spec/);
    }
    for (const body of [null, [], 'x', 7, undefined]) {
      expect(refusal(() => review('selfsubjectaccessreviews', body))).to.include({
        code: 400,
        message: 'the object provided is unrecognized (must be of type SelfSubjectAccessReview)',
      });
    }
  });

  it('refuse another apiVersion', () => {
    const body = { apiVersion: 'authorization.k8s.io/v2', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };

    expect(refusal(() => review('selfsubjectaccessreviews', body)).message).to.equal(
      'SelfSubjectAccessReview in version "v2" cannot be handled as a SelfSubjectAccessReview: no kind "SelfSubjectAccessReview" is registered for version "authorization.k8s.io/v2"',
    );
  });

  it('repeat selectors, at which RBAC does not look', () => {
    const fieldSelector = { requirements: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] };
    const spec = { resourceAttributes: { verb: 'get', fieldSelector, labelSelector: { rawSelector: 'a=b' } } };

    expect(review('selfsubjectaccessreviews', { spec })).to.deep.include({ spec });
  });

  it('require a user or a group if they are about another user', () => {
    expect(causes('subjectaccessreviews', { spec: { resourceAttributes } })).to.deep.equal([
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ]);
    const spec = { resourceAttributes, user: 'ada', extra: { a: ['b'] } };
    const eve = { username: 'eve', uid: '2', groups: [] };
    expect(review('subjectaccessreviews', { spec }, eve)).to.deep.equal({
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec,
      status: { allowed: true, reason: REASON },
    });
    expect(review('subjectaccessreviews', { spec: { resourceAttributes, groups: ['ada'] } })).to.deep.include({
      status: { allowed: false },
    });
  });
});

describe('rules reviews of the embedded cluster', () => {
  it('list what the caller may do in a namespace', () => {
    expect(review('selfsubjectrulesreviews', { spec: { namespace: 'shop' } })).to.deep.equal({
      kind: 'SelfSubjectRulesReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec: {},
      status: {
        resourceRules: [{ verbs: ['get', 'list'], apiGroups: ['apps'], resources: ['deployments'] }],
        nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }],
        incomplete: false,
      },
    });
  });

  it('require a namespace', () => {
    expect(refusal(() => review('selfsubjectrulesreviews', { spec: {} }))).to.include({ code: 400, message: 'no namespace on request' });
  });
});

describe("reviews of the caller's identity", () => {
  it('return the caller', () => {
    const answer = createSelfSubjectReview(ada, {});

    expect(answer).to.deep.include({ kind: 'SelfSubjectReview', apiVersion: 'authentication.k8s.io/v1', status: { userInfo: ada } });
    expect(answer)
      .to.have.nested.property('metadata.creationTimestamp')
      .that.matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const anonymous = { username: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] };
    expect(createSelfSubjectReview(anonymous, { kind: 'SelfSubjectReview' })).to.deep.include({
      status: { userInfo: { username: 'system:anonymous', groups: ['system:unauthenticated'] } },
    });
  });

  it('refuse another kind', () => {
    expect(refusal(() => createSelfSubjectReview(ada, { kind: 'TokenReview' }))).to.include({ code: 400 });
  });

  describe('by a token', () => {
    let issuer: TokenIssuer;
    before(async () => {
      issuer = await TokenIssuer.create();
    });

    it('return the user and the matching audiences', async () => {
      const { token } = await issuer.issue({ user: ada, audiences: ['a', 'b'], expiresInSeconds: 600 });

      expect(await createTokenReview(issuer, { spec: { token, audiences: ['b', 'c'] } })).to.deep.equal({
        kind: 'TokenReview',
        apiVersion: 'authentication.k8s.io/v1',
        metadata: {},
        spec: { token, audiences: ['b', 'c'] },
        status: { authenticated: true, user: ada, audiences: ['b'] },
      });
    });

    it('report an invalid token', async () => {
      const { token } = await issuer.issue({ user: ada, audiences: ['a'], expiresInSeconds: 600 });

      for (const spec of [{ token: 'x' }, { token }, { token, audiences: ['b'] }]) {
        expect(await createTokenReview(issuer, { spec })).to.deep.include({ status: { user: {}, error: 'invalid bearer token' } });
      }
    });

    it('require a token', async () => {
      for (const body of [{}, { spec: {} }, { spec: { token: '' } }]) {
        const status = await createTokenReview(issuer, body).then(
          () => undefined,
          (error: unknown) => (error instanceof StatusError ? error.status : undefined),
        );
        expect(status).to.include({ code: 400, message: 'token is required for TokenReview in authentication' });
      }
    });
  });
});
