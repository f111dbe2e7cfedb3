import { expect } from 'chai';
import { z } from 'zod';
import { userListSchema } from '../../../src/users/record/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser, nameOf } from './a-user.ts';
import { untilSettled } from './settled.ts';

const statusBody = z.object({
  kind: z.literal('Status'),
  status: z.literal('Failure'),
  code: z.number(),
  reason: z.string(),
  message: z.string(),
  details: z.object({ causes: z.array(z.object({ field: z.string().optional() })).optional() }).optional(),
});

const objectBody = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

const people = [
  aUser('jane@example.com', { username: 'Jane Doe', groups: ['dev'], lastLoginTime: '2026-03-01T11:00:00Z', labels: { team: 'red' } }),
  aUser('zoe@example.com', { username: 'zoë Martin', connector_name: 'Directory', labels: { team: 'blue' } }),
  aUser('adam@example.com', { username: 'adam', is_disabled: true, phase: 'Disabled', lastLoginTime: '2026-02-01T11:00:00Z' }),
  aUser('hostile@example.com', { username: '(a+)+$, "<b>"' }),
  aUser('nameless@example.com', { username: '', account: 'Nobody,Knows' }),
];

const emailsOfAll = ['jane', 'zoe', 'adam', 'hostile', 'nameless'].map((name) => `${name}@example.com`);

describe('GET /auth/v2/users', () => {
  const server = forSuite(() => startServer());

  const list = (query = '', as: 'admin' | 'viewer' | 'nobody' = 'viewer') => server.request(`/auth/v2/users${query}`, { as });
  const read = async (query = '') => {
    const response = await list(query);
    expect(response.status, query).to.equal(200);
    return userListSchema.parse(await response.json());
  };
  const emails = async (query = '') => (await read(query)).items.map(({ spec }) => spec.email.replace('@example.com', ''));
  const refuse = async (query: string) => {
    const response = await list(query);
    const body = statusBody.parse(await response.json());
    expect(response.status, query).to.equal(body.code);
    return { code: body.code, reason: body.reason, fields: body.details?.causes?.map(({ field }) => field) };
  };

  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await server.kubernetes.apply(...people);
    await untilSettled(server, emailsOfAll);
  });

  it('lists users by name, missing names last, without managed fields and without a copy of them', async () => {
    const response = await list();

    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(response.headers.get('cache-control')).to.equal('no-store');
    expect(response.headers.get('vary')).to.equal('Authorization, Cookie, Accept-Encoding');
    const body = userListSchema.parse(await response.json());
    expect(body.items.map(({ spec }) => spec.username)).to.deep.equal(['(a+)+$, "<b>"', 'adam', 'Jane Doe', 'zoë Martin', '']);
    expect(body).to.deep.include({ apiVersion: 'auth.platform.io/v1', kind: 'UserList', total: 5 });
    expect(body.metadata).to.include({ continue: '', remainingItemCount: 0 });
    expect(body.metadata.resourceVersion).to.match(/^[0-9]+$/);
    for (const { metadata } of body.items) expect(metadata).not.to.have.property('managedFields');
  });

  it('gives each user as the API server has it', async () => {
    const [jane] = (await read('?filterBy=name,8c87b489')).items;
    const { body } = await server.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${nameOf('jane@example.com')}`);

    const { metadata, ...rest } = z.looseObject({ metadata: z.looseObject({ managedFields: z.unknown().optional() }) }).parse(body);
    const { managedFields: _managedFields, ...served } = metadata;
    expect(jane).to.deep.equal({ ...rest, metadata: served });
  });

  it('works for an administrator, too', async () => {
    expect((await list('', 'admin')).status).to.equal(200);
  });

  for (const [query, expected] of [
    ['filterBy=username,JANE', ['jane']],
    ['filterBy=email,a', ['hostile', 'adam', 'jane', 'zoe', 'nameless']],
    ['filterBy=username,jane,username,adam', ['adam', 'jane']],
    ['filterBy=username,a&filterBy=phase,Normal', ['hostile', 'jane', 'zoe']],
    ['filterBy=phase,normal', []],
    ['filterBy=account,y\\,k', ['nameless']],
    ['filterBy=groups,DE', ['jane']],
    ['filterBy=connector_name,direct', ['zoe']],
    ['filterBy=is_disabled,true', ['adam']],
    ['filterBy=valid,true,is_admin,false,state,active,connector_id,local', ['hostile', 'adam', 'jane', 'zoe', 'nameless']],
    ['search=JANE', ['jane']],
    ['search=EXAMPLE.com', ['hostile', 'adam', 'jane', 'zoe', 'nameless']],
    ['search=8c87b489ce', ['jane']],
    ['search=ZO\u00cb m', ['zoe']],
    ['search=%2C "<b', ['hostile']],
    ['search=.*', []],
    ['search=knows', []],
    ['search=a&filterBy=phase,Disabled', ['adam']],
    ['search=&limit=1', ['hostile']],
    ['labelSelector=team in (red,blue)', ['jane', 'zoe']],
    ['labelSelector=!team', ['hostile', 'adam', 'nameless']],
    ['fieldSelector=spec.is_disabled=true', ['adam']],
    ['fieldSelector=status.phase!=Normal,spec.email=adam@example.com', ['adam']],
    [`fieldSelector=metadata.name=${nameOf('jane@example.com')}`, ['jane']],
    ['sortBy=d,username', ['zoe', 'jane', 'adam', 'hostile', 'nameless']],
    ['sortBy=username&order=desc', ['zoe', 'jane', 'adam', 'hostile', 'nameless']],
    ['sortBy=a,username&order=desc', ['hostile', 'adam', 'jane', 'zoe', 'nameless']],
    ['sortBy=email', ['adam', 'hostile', 'jane', 'nameless', 'zoe']],
    ['sortBy=d,last_login_time,email', ['jane', 'adam', 'hostile', 'nameless', 'zoe']],
    ['sortBy=phase,d,email', ['adam', 'zoe', 'nameless', 'jane', 'hostile']],
    ['sortBy=connector_name,creationTimestamp,email&limit=1', ['zoe']],
    ['page=2&limit=2', ['jane', 'zoe']],
    ['page=9', []],
    ['limit=5000&pretty=false', ['hostile', 'adam', 'jane', 'zoe', 'nameless']],
    ['labelSelector=&fieldSelector=&filterBy=&sortBy=&continue=', ['hostile', 'adam', 'jane', 'zoe', 'nameless']],
  ] as const) {
    it(`answers ?${query}`, async () => {
      expect(await emails(`?${query.replaceAll('+', '%2B')}`)).to.deep.equal(expected);
    });
  }

  it('counts all matches, and the items after the page', async () => {
    const { total, metadata, items } = await read('?filterBy=phase,Normal&limit=1&page=2');

    expect({ total, length: items.length, remaining: metadata.remainingItemCount }).to.deep.equal({ total: 4, length: 1, remaining: 2 });
  });

  it('continues after the last user, whatever was created or deleted before, and reports the end', async () => {
    const first = await read('?sortBy=email&limit=2');
    expect(first.items.map(({ spec }) => spec.email)).to.deep.equal(['adam@example.com', 'hostile@example.com']);
    expect(first.metadata.remainingItemCount).to.equal(3);
    await server.kubernetes.apply(aUser('aaron@example.com'));
    await server.kubernetes.remove(`/apis/auth.platform.io/v1/users/${nameOf('hostile@example.com')}`);
    await eventually(read, ({ items }) => items.some(({ spec }) => spec.email === 'aaron@example.com') && items.length === 5);

    const second = await read(`?sortBy=a,email&limit=2&continue=${first.metadata.continue}`);
    const third = await read(`?sortBy=email&limit=100&continue=${second.metadata.continue}`);

    expect(second.items.map(({ spec }) => spec.email)).to.deep.equal(['jane@example.com', 'nameless@example.com']);
    expect(third.items.map(({ spec }) => spec.email)).to.deep.equal(['zoe@example.com']);
    expect(third.metadata).to.include({ continue: '', remainingItemCount: 0 });
    expect(third.total).to.equal(5);
    await server.kubernetes.apply(aUser('hostile@example.com', { username: '(a+)+$, "<b>"' }));
    await server.kubernetes.remove(`/apis/auth.platform.io/v1/users/${nameOf('aaron@example.com')}`);
    await eventually(read, ({ items }) => items.length === 5 && items.some(({ spec }) => spec.email === 'hostile@example.com'));
    await untilSettled(server, emailsOfAll);
  });

  it('USR-14 takes a filter that is a hostile pattern for a literal text', async () => {
    expect(await emails(`?filterBy=${encodeURIComponent('username,(a+)+$')}`)).to.deep.equal(['hostile']);
    expect(await emails(`?filterBy=${encodeURIComponent('username,(a+)+')}&filterBy=username,zzz`)).to.deep.equal(['hostile']);
    expect(await emails('?filterBy=username,.*')).to.deep.equal([]);
  });

  it('USR-14 takes a huge limit or page as a number', async () => {
    expect(await emails('?limit=1000000000')).to.have.length(5);
    const { total, items } = await read('?page=1000000000000');
    expect({ total, items }).to.deep.equal({ total: 5, items: [] });
  });

  for (const [query, field] of [
    ['filterBy=password,x', 'filterBy'],
    ['filterBy=__proto__,x', 'filterBy'],
    ['filterBy=constructor,x', 'filterBy'],
    ['filterBy=username', 'filterBy'],
    ['filterBy=username,a,email', 'filterBy'],
    [`filterBy=${Array.from({ length: 33 }, (_, index) => `username,${index}`).join()}`, 'filterBy'],
    [`search=${'x'.repeat(129)}`, 'search'],
    ['search=a&search=b', 'search'],
    ['sortBy=__proto__,name', 'sortBy'],
    ['sortBy=a', 'sortBy'],
    ['sortBy=name,', 'sortBy'],
    ['sortBy=password', 'sortBy'],
    ['sortBy=name&sortBy=email', 'sortBy'],
    ['order=up', 'order'],
    ['limit=-1', 'limit'],
    ['limit=0', 'limit'],
    ['limit=1e9', 'limit'],
    ['limit=NaN', 'limit'],
    ['limit=', 'limit'],
    ['page=0', 'page'],
    ['page=1e12', 'page'],
    ['labelSelector=a in (', 'labelSelector'],
    ['labelSelector=-', 'labelSelector'],
    ['fieldSelector=spec.mobile=1', 'fieldSelector'],
    ['fieldSelector=__proto__=1', 'fieldSelector'],
    ['fieldSelector=metadata.name', 'fieldSelector'],
    ['resourceVersion=new', 'resourceVersion'],
    ['resourceVersion=999999999&labelSelector=-', 'labelSelector'],
    ['resourceVersion=999999999&continue=x', 'continue'],
    ['continue=x', 'continue'],
    ['continue=000000000000.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'continue'],
  ] as const) {
    it(`USR-14 refuses ?${query.slice(0, 60)} with 400 and names the parameter`, async () => {
      expect(await refuse(`?${query}`)).to.deep.equal({ code: 400, reason: 'BadRequest', fields: [field] });
    });
  }

  it('USR-14 refuses a continue token that was changed, or that goes with another query or with a page', async () => {
    const { continue: token } = (await read('?limit=1')).metadata;
    const end = token.at(-5) === 'A' ? 'B' : 'A';
    const changed = `${token.slice(0, -5)}${end}${token.slice(-4)}`;

    for (const query of [
      `continue=${changed}`,
      `continue=${token}x`,
      `continue=${token}&page=2`,
      `continue=${token}&sortBy=email`,
      `continue=${token}&filterBy=phase,Normal`,
      `continue=${token}&labelSelector=team`,
      `continue=${token}&search=jane`,
    ]) {
      expect(await refuse(`?${query}`), query).to.deep.equal({ code: 400, reason: 'BadRequest', fields: ['continue'] });
    }
  });

  it('waits for a version that it has not seen yet', async () => {
    const next = Number((await read()).metadata.resourceVersion) + 1;

    const [{ items, metadata }, { body }] = await Promise.all([
      read(`?filterBy=email,late&resourceVersion=${next}`),
      server.kubernetes.call('POST', '/apis/auth.platform.io/v1/users', aUser('late@example.com')),
    ]);

    // The next version may be that of another write: a controller's, or a Lease of the control plane.
    const seen = Number(metadata.resourceVersion);
    const written = Number(objectBody.parse(body).metadata.resourceVersion);
    expect(seen).to.be.at.least(next);
    expect(items.map(({ spec }) => spec.email)).to.deep.equal(seen >= written ? ['late@example.com'] : []);
    await server.kubernetes.remove(`/apis/auth.platform.io/v1/users/${nameOf('late@example.com')}`);
  });

  it('answers 504 when that version does not come', async () => {
    const response = await list('?resourceVersion=999999999');

    expect(response.status).to.equal(504);
    expect(response.headers.get('retry-after')).to.equal('1');
    expect(statusBody.parse(await response.json()).reason).to.equal('Timeout');
  });

  it('refuses callers who may not list users, with the message of the API server', async () => {
    const response = await list('', 'nobody');

    expect(response.status).to.equal(403);
    const native = await server.request('/apis/auth.platform.io/v1/users', { as: 'nobody' });
    expect(statusBody.parse(await response.json())).to.deep.equal(statusBody.parse(await native.json()));
  });

  it('refuses a request without a token, and one with a token that the API server does not accept', async () => {
    const without = await server.request('/auth/v2/users');
    const garbage = await server.request('/auth/v2/users', { token: 'garbage' });

    expect([without.status, without.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer realm="atrium"']);
    expect([garbage.status, garbage.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer realm="atrium", error="invalid_token"']);
  });

  it('indents on request', async () => {
    const text = await (await list('?pretty=true&limit=1')).text();

    expect(text).to.match(/^\{\n {2}"apiVersion"/);
    expect(userListSchema.parse(JSON.parse(text)).items).to.have.length(1);
  });

  describe('GET /auth/v1/users', () => {
    it('USR-18 gives the answer of v2, and warns that it will be removed', async () => {
      const [v1, v2] = await Promise.all(
        ['v1', 'v2'].map((version) => server.request(`/auth/${version}/users?limit=2&page=2`, { as: 'viewer' })),
      );

      expect(v1?.status).to.equal(200);
      expect(v1?.headers.get('deprecation')).to.equal('@1767225600');
      expect(v1?.headers.get('link')).to.equal('</auth/v2/users>; rel="successor-version"');
      expect(v1?.headers.get('warning')).to.equal('299 - "GET /auth/v1/users is deprecated, use /auth/v2/users"');
      expect(v1?.headers.has('sunset')).to.equal(false);
      const [older, newer] = [userListSchema.parse(await v1?.json()), userListSchema.parse(await v2?.json())];
      expect(older.items).to.deep.equal(newer.items);
      expect(older.total).to.equal(newer.total);
      for (const name of ['deprecation', 'link', 'warning', 'sunset']) expect(v2?.headers.has(name), name).to.equal(false);
    });

    it('USR-18 is behind the same guard', async () => {
      const refused = await server.request('/auth/v1/users', { as: 'nobody' });
      expect(refused.status).to.equal(403);
      expect(refused.headers.get('deprecation')).to.equal('@1767225600');
      expect((await server.request('/auth/v1/users')).status).to.equal(401);
      expect((await server.request('/auth/v1/users', { token: 'garbage' })).status).to.equal(401);
    });

    it('does not call the other methods on its path deprecated', async () => {
      const response = await server.request('/auth/v1/users', { as: 'viewer', method: 'OPTIONS' });

      expect(response.status).to.equal(204);
      expect(response.headers.has('deprecation')).to.equal(false);
    });
  });
});
