import { expect } from 'chai';
import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { listUsers, refusal } from './review-answers.ts';

const paths = ['/auth/v1/selfsubjectaccessreviews', '/apis/authorization.orchestrator.io/v1/selfsubjectaccessreviews'] as const;
const kubernetesPath = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

const status = z.strictObject({
  allowed: z.boolean(),
  denied: z.boolean().optional(),
  reason: z.string().optional(),
  evaluationError: z.string().optional(),
});
const review = z.strictObject({
  apiVersion: z.string(),
  kind: z.literal('SelfSubjectAccessReview'),
  metadata: z.strictObject({}),
  spec: z.record(z.string(), z.unknown()),
  status,
});
const list = z.strictObject({
  apiVersion: z.string(),
  kind: z.literal('SelfSubjectAccessReviewList'),
  metadata: z.strictObject({}),
  items: z.array(z.strictObject({ spec: z.record(z.string(), z.unknown()), status })),
});
const ofKubernetes = (spec: object, more: object = {}) => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  spec,
  ...more,
});

/** Removes manager and time, which kube-apiserver quotes when it refuses metadata. */
const withoutManager = (answered: unknown): unknown =>
  JSON.parse(JSON.stringify(answered).replaceAll(/\\"(manager|time)\\":\\"[^\\]*\\",/g, ''));

describe('the review of access', () => {
  const server = forSuite(() => startServer());

  const ask = (body: unknown, as: Person = 'viewer', path: string = paths[0]) => server.request(path, { method: 'POST', as, body });
  const answer = async (body: unknown, as: Person = 'viewer', path: string = paths[0]) => {
    const response = await ask(body, as, path);
    expect(response.status).to.equal(201);
    return review.parse(await response.json());
  };
  const refuse = async (body: unknown, path: string = paths[0]) => {
    return refusal(await ask(body, 'viewer', path));
  };
  /** Sends the same question of the same person to the API server directly. */
  const askKubernetes = async (body: unknown, as: Person = 'viewer') => {
    const { status: code, body: given } = await server.kubernetes.call('POST', kubernetesPath, body, {
      authorization: `Bearer ${await server.token(as)}`,
    });
    return { code, body: given };
  };

  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await eventually(
      () => answer({ spec: listUsers }),
      (body) => body.status.allowed,
    );
  });

  for (const path of paths) {
    describe(`POST ${path}`, () => {
      for (const [as, allowed] of [
        ['admin', true],
        ['viewer', true],
        ['nobody', false],
      ] as const) {
        it(`tells ${as} that it is ${allowed ? '' : 'not '}allowed, as the API server does`, async () => {
          const body = await answer({ spec: listUsers }, as, path);

          expect(body.status.allowed).to.equal(allowed);
          const direct = await askKubernetes(ofKubernetes(listUsers), as);
          expect(direct.body).to.deep.include({ status: body.status });
        });
      }

      for (const apiVersion of ['authorization.orchestrator.io/v1', 'authorization.k8s.io/v1']) {
        it(`answers a review of ${apiVersion} in the same version, with the spec as it was sent`, async () => {
          const spec = {
            resourceAttributes: {
              namespace: 'shop',
              verb: 'get',
              group: 'apps',
              version: 'v1',
              resource: 'deployments',
              subresource: 'scale',
              name: 'web',
            },
          };
          const body = await answer({ apiVersion, kind: 'SelfSubjectAccessReview', metadata: {}, spec }, 'admin', path);

          expect(body).to.deep.include({ apiVersion, spec });
        });
      }

      it('is authorization.orchestrator.io/v1 by default', async () => {
        expect((await answer({ spec: listUsers }, 'viewer', path)).apiVersion).to.equal('authorization.orchestrator.io/v1');
      });

      it('asks about paths that are not resources', async () => {
        const spec = { nonResourceAttributes: { path: '/metrics', verb: 'get' } };

        expect((await answer({ spec }, 'admin', path)).status.allowed).to.equal(true);
        expect((await answer({ spec }, 'viewer', path)).status.allowed).to.equal(false);
      });

      it('takes selectors, dryRun and fieldManager', async () => {
        const spec = {
          resourceAttributes: {
            ...listUsers.resourceAttributes,
            fieldSelector: { requirements: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] },
            labelSelector: { rawSelector: 'team=red' },
          },
        };
        const response = await ask({ spec }, 'viewer', `${path}?dryRun=All&fieldManager=me&pretty=true`);

        expect(response.status).to.equal(201);
        const text = await response.text();
        expect(review.parse(JSON.parse(text))).to.deep.include({ spec });
        expect(text).to.match(/^\{\n {2}"/);
      });

      it('is not cacheable', async () => {
        const response = await ask({ spec: listUsers }, 'viewer', path);

        expect(response.headers.get('cache-control')).to.equal('no-store');
        expect(response.headers.get('vary')).to.equal(
          'Impersonate-User, Impersonate-Group, Impersonate-Uid, Atrium-View-As-Groups, Authorization, Cookie',
        );
      });

      it('refuses a request without a token, and one with a bad token', async () => {
        const body = { spec: listUsers };
        expect((await server.request(path, { method: 'POST', body })).status).to.equal(401);
        expect((await server.request(path, { method: 'POST', body, token: 'garbage' })).status).to.equal(401);
        expect((await server.request(path, { method: 'POST', body: 'nonsense', token: 'garbage' })).status).to.equal(401);
      });

      it('refuses a body of another media type, and one that is not JSON', async () => {
        const as = 'viewer';
        const plain = await server.request(path, {
          method: 'POST',
          as,
          body: JSON.stringify({ spec: listUsers }),
          headers: { 'Content-Type': 'text/plain' },
        });
        expect(plain.status).to.equal(415);
        expect((await server.request(path, { method: 'POST', as, body: '{' })).status).to.equal(400);
        expect((await server.request(path, { method: 'POST', as })).status).to.equal(400);
        const get = await server.request(path, { as });
        expect([get.status, get.headers.get('allow')]).to.deep.equal([405, 'OPTIONS, POST']);
      });
    });
  }

  it('AUZ-01 answers many concurrent callers each with their own answer', async () => {
    const people: Person[] = ['admin', 'viewer', 'nobody', 'bob'];
    const tokens = await Promise.all(people.map((person) => server.token(person)));
    const isAllowed = async (token: string, path: string = paths[0]) => {
      const response = await server.request(path, { method: 'POST', token, body: { spec: listUsers } });
      expect(response.status).to.equal(201);
      return review.parse(await response.json()).status.allowed;
    };
    // Accepted tokens count as people. Requests of one network with unknown tokens have 250 places in all.
    for (const token of tokens) await isAllowed(token);
    for (let batch = 0; batch < 4; batch += 1) {
      const asking = Array.from({ length: 300 }, (_, index) => (index + batch) % people.length);
      const answers = await Promise.all(asking.map((person, index) => isAllowed(tokens[person] ?? '', paths[index % 2])));
      expect(answers).to.deep.equal(asking.map((person) => person < 2));
    }
  });

  it('AUZ-02 answers for the caller, whatever user the body names', async () => {
    const as = { user: 'admin', groups: ['system:masters'], uid: '0', extra: { a: ['b'] } };
    const body = await answer({ spec: { ...listUsers, ...as }, ...as }, 'nobody');

    expect(body.status.allowed).to.equal(false);
    expect(body.spec).to.deep.equal(listUsers);
    for (const kind of ['SubjectAccessReview', 'LocalSubjectAccessReview']) {
      expect(await refuse({ kind, spec: { ...listUsers, ...as } })).to.deep.equal({ code: 400, reason: 'BadRequest', fields: ['kind'] });
    }
  });

  it('AUZ-03 gives the same answer on both paths, and the refusals of the API server', async () => {
    const { resourceAttributes } = listUsers;
    // A single binding allows it, because kube-apiserver names any of several as the reason.
    const nonResourceAttributes = { path: '/api', verb: 'get' };
    for (const spec of [
      listUsers,
      { nonResourceAttributes },
      { resourceAttributes: { verb: 'delete', resource: 'pods', namespace: 'default' } },
      {},
      { resourceAttributes, nonResourceAttributes },
      null,
    ]) {
      const [one, other] = await Promise.all(paths.map(async (path) => (await ask({ spec }, 'viewer', path)).json()));
      expect(one).to.deep.equal(other);
      const direct = await askKubernetes(ofKubernetes(spec ?? {}));
      if (direct.code === 422) expect(one).to.deep.equal(direct.body);
      else
        expect(review.parse(one).status).to.deep.equal(review.parse({ ...z.object({}).loose().parse(direct.body), metadata: {} }).status);
    }
    const invalid = { code: 422, reason: 'Invalid' };
    expect(await refuse({ spec: {} })).to.deep.equal({ ...invalid, fields: ['spec.resourceAttributes'] });
    expect(await refuse({ spec: { resourceAttributes, nonResourceAttributes } })).to.deep.equal({
      ...invalid,
      fields: ['spec.nonResourceAttributes'],
    });
  });

  it('AUZ-03 leaves out members that are null, as the API server does', async () => {
    const { resourceAttributes } = listUsers;
    const spec = { resourceAttributes: { ...resourceAttributes, namespace: null, fieldSelector: null }, nonResourceAttributes: null };
    for (const path of [...paths, `${paths[0]}?explain=true`]) {
      const one = await (await ask({ spec }, 'viewer', path)).json();
      expect(one, path).to.have.property('spec').that.deep.equals({ resourceAttributes });
      const items = [{ spec }, { spec: { ...spec, resourceAttributes: null, nonResourceAttributes: { path: '/api', verb: 'get' } } }];
      const both = await (await ask({ kind: 'SelfSubjectAccessReviewList', items }, 'viewer', path)).json();
      expect(both).to.have.nested.property('items[0].spec').that.deep.equals({ resourceAttributes });
      expect(both)
        .to.have.nested.property('items[1].spec')
        .that.deep.equals({ nonResourceAttributes: { path: '/api', verb: 'get' } });
    }
    expect((await askKubernetes(ofKubernetes(spec))).body)
      .to.have.property('spec')
      .that.deep.equals({ resourceAttributes });
  });

  it('AUZ-03 lets the API server refuse metadata', async () => {
    for (const metadata of [{ name: 'mine' }, { labels: { a: 'b' } }]) {
      const response = await ask({ metadata, spec: listUsers });
      const direct = await askKubernetes(ofKubernetes(listUsers, { metadata }));

      expect([response.status, withoutManager(await response.json())]).to.deep.equal([direct.code, withoutManager(direct.body)]);
      expect(response.status).to.equal(422);
    }
    expect((await answer({ metadata: null, spec: listUsers })).status.allowed).to.equal(true);
  });

  for (const [body, field] of [
    [{ spec: 'x' }, 'spec'],
    [{ spec: [] }, 'spec'],
    [{ spec: { resourceAttributes: [] } }, 'spec.resourceAttributes'],
    [{ spec: { resourceAttributes: { verb: 1 } } }, 'spec.resourceAttributes.verb'],
    [{ spec: { nonResourceAttributes: { path: true } } }, 'spec.nonResourceAttributes.path'],
    [{ spec: { resourceAttributes: { labelSelector: { requirements: {} } } } }, 'spec.resourceAttributes.labelSelector.requirements'],
    [
      { spec: { resourceAttributes: { fieldSelector: { requirements: [{ values: [1] }] } } } },
      'spec.resourceAttributes.fieldSelector.requirements[0].values[0]',
    ],
    [{ metadata: 'x', spec: listUsers }, 'metadata'],
    [{ apiVersion: 'v1', spec: listUsers }, 'apiVersion'],
    [{ apiVersion: 'authorization.k8s.io/v1beta1', spec: listUsers }, 'apiVersion'],
    [{ kind: 'Pod', spec: listUsers }, 'kind'],
    [{ kind: 1, spec: listUsers }, 'kind'],
    [{ kind: 'SelfSubjectAccessReviewList', items: [{ spec: listUsers }, { spec: 1 }] }, 'items[1].spec'],
    [{ kind: 'SelfSubjectAccessReviewList', items: {} }, 'items'],
    [[], undefined],
  ] as const) {
    it(`AUZ-03 refuses ${JSON.stringify(body).slice(0, 70)} with 400 and names ${field || 'the body'}`, async () => {
      for (const path of paths) expect(await refuse(body, path)).to.deep.equal({ code: 400, reason: 'BadRequest', fields: [field] });
    });
  }

  describe('reviews in a batch', () => {
    const asked = (items: unknown) => ({ kind: 'SelfSubjectAccessReviewList', items });
    const verb = (name: string) => ({ resourceAttributes: { ...listUsers.resourceAttributes, verb: name } });

    it('are answered in the order asked', async () => {
      const verbs = Array.from({ length: 100 }, (_, index) => ['list', 'delete', 'get', 'create', 'watch'][index % 5] ?? '');
      const response = await ask({ apiVersion: 'authorization.k8s.io/v1', ...asked(verbs.map((name) => ({ spec: verb(name) }))) });

      expect(response.status).to.equal(201);
      const body = list.parse(await response.json());
      expect(body.apiVersion).to.equal('authorization.k8s.io/v1');
      expect(body.items.map(({ spec }) => spec)).to.deep.equal(verbs.map(verb));
      expect(body.items.map((item) => item.status.allowed)).to.deep.equal(verbs.map((name) => ['list', 'get', 'watch'].includes(name)));
    });

    it('are answered beside one that the API server refuses', async () => {
      const response = await ask(asked([{ spec: listUsers }, { spec: {} }, { spec: verb('delete') }]), 'viewer', paths[1]);

      expect(response.status).to.equal(201);
      const [first, second, third] = list.parse(await response.json()).items;
      expect([first?.status.allowed, second?.status.allowed, third?.status.allowed]).to.deep.equal([true, false, false]);
      expect(second?.status.evaluationError).to.contain('is invalid: spec.resourceAttributes');
      expect(third?.status).not.to.have.property('evaluationError');
    });

    it('are at least one and at most a hundred', async () => {
      for (const items of [undefined, [], Array.from({ length: 101 }, () => ({ spec: listUsers }))]) {
        expect(await refuse(asked(items))).to.deep.equal({ code: 422, reason: 'Invalid', fields: ['items'] });
      }
    });

    it('are those of the caller', async () => {
      const response = await ask(asked([{ spec: { ...listUsers, user: 'admin', groups: ['system:masters'] } }]), 'nobody');

      expect(list.parse(await response.json()).items).to.have.nested.property('[0].status.allowed', false);
    });
  });
});
