import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aNamespace, aRole, podRule } from '../access/objects.ts';
import { letManagerExplore } from './support.ts';

const path = '/auth/v1/subjectaccessreviews';
const answered = z.looseObject({ spec: z.unknown(), status: z.looseObject({ allowed: z.boolean() }) });

describe('POST /auth/v1/subjectaccessreviews', () => {
  const server = forSuite(() => startServer());
  const post = (body: unknown, as: 'manager' | 'viewer' = 'manager') => server.request(path, { method: 'POST', as, body });
  const pods = (groups: string[]) => ({
    user: 'jane@example.com',
    groups,
    resourceAttributes: { verb: 'list', resource: 'pods', namespace: 'shop' },
  });

  before(async () => {
    await server.kubernetes.apply(
      aNamespace('shop'),
      aRole('lists-pods', [podRule(['list'])]),
      aBinding('dev', { role: 'lists-pods', to: 'Group:dev', namespace: 'shop' }),
    );
    await letManagerExplore(server);
    await eventually(async () => answered.parse(await (await post({ spec: pods(['dev']) })).json()).status.allowed, Boolean);
  });

  it('passes the question on as the caller, and answers as the API server does', async () => {
    const response = await post({ spec: pods(['dev']) });
    expect(response.status).to.equal(201);
    const { spec, status } = answered.parse(await response.json());
    expect(spec).to.deep.include({ user: 'jane@example.com', groups: ['dev'] });
    expect(status).to.have.property('reason').that.includes('dev/shop');
    const no = answered.parse(await (await post({ spec: pods(['ops']) })).json());
    expect(no.status.allowed).to.equal(false);
  });

  it('is 403 without the right to create it (SIM-02), and 422 in the words of the API server', async () => {
    const refused = await post({ spec: pods(['dev']) }, 'viewer');
    expect(refused.status).to.equal(403);
    expect(await refused.text()).to.include('subjectaccessreviews.authorization.k8s.io is forbidden');
    expect((await post({ spec: {} })).status).to.equal(422);
    expect((await post({})).status).to.equal(400);
  });
});
