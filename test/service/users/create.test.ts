import { constants, createHash, publicEncrypt } from 'node:crypto';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { Passwords } from '../../../src/users/passwords/passwords.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding, grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';

interface User {
  metadata: { name: string; uid: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec: Record<string, unknown>;
  status: Record<string, unknown>;
}
interface Status {
  code: number;
  reason: string;
  message: string;
  details?: { causes?: { reason: string; field: string; message: string }[] };
}

const nameOf = (email: string) => createHash('sha256').update(email.toLowerCase()).digest('hex').slice(0, 32);
const users = '/apis/auth.platform.io/v1/users';
const secretOf = (email: string) => `/api/v1/namespaces/atrium-system/secrets/user-password-${nameOf(email)}`;
const good = 'correct horse battery';

describe('POST /auth/v1/users', () => {
  const server = forSuite(() => startServer({ passwords: new Passwords() }));

  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });

  const create = (spec: unknown, rest: { query?: string; as?: 'manager' | 'nobody'; at?: string; [member: string]: unknown } = {}) => {
    const { query = '', as = 'manager', at = server.url, ...body } = rest;
    return server.request(`/auth/v1/users${query}`, { method: 'POST', as, at, body: { spec, ...body } });
  };
  const causes = async (response: Response) => ((await response.json()) as Status).details?.causes ?? [];

  it('USR-01 makes a user with labels, status and a hash that is never shown', async () => {
    const response = await create({ email: 'Jane@example.com', password: good, username: 'Jane Doe', mobile: '+49 30 1234' });
    const text = await response.text();

    expect(response.status, text).to.equal(201);
    expect(response.headers.get('location')).to.equal(`/auth/v1/users/${nameOf('jane@example.com')}`);
    expect(text).not.to.match(/password"|hash|salt|argon2|managedFields|unfinished/);
    const user = JSON.parse(text) as User;
    expect(user.metadata.name).to.equal(nameOf('jane@example.com'));
    expect(user.metadata.labels).to.include({ 'auth.platform.io/user.email': user.metadata.name, 'auth.platform.io/user.state': 'active' });
    expect(user.metadata.annotations).to.deep.equal({ 'auth.platform.io/created-by': 'manager' });
    expect(user.spec).to.include({ email: 'Jane@example.com', username: 'Jane Doe', connector_type: 'local', is_admin: false });
    expect(user.status).to.include({ phase: 'Normal', subjectName: 'Jane@example.com', mustChangePassword: false });

    const { body } = await server.kubernetes.call('GET', secretOf('jane@example.com'));
    const secret = body as { type: string; data: { hash: string }; metadata: { ownerReferences: { uid: string }[] } };
    expect(Buffer.from(secret.data.hash, 'base64').toString()).to.match(/^\$argon2id\$v=19\$m=(19456|[2-9]\d{4,}),t=[2-9],/);
    expect(secret.metadata.ownerReferences[0]?.uid).to.equal(user.metadata.uid);
  });

  it('USR-01 shows no password, hash or salt in any answer about a user', async () => {
    expect((await create({ email: 'shown@example.com', password: good })).status).to.equal(201);
    const path = `/auth/v1/users/${nameOf('shown@example.com')}`;
    const type = { 'Content-Type': 'application/merge-patch+json' };
    const answers = [
      await server.request(path, { as: 'admin' }),
      await server.request('/auth/v2/users?filterBy=email,shown@', { as: 'admin' }),
      await server.request(`${users}/${nameOf('shown@example.com')}`, { as: 'admin' }),
      await server.request(users, { as: 'admin' }),
      await server.request(`/auth/v1/usersroles?name=${nameOf('shown@example.com')}`, { as: 'admin' }),
      await server.request(path, { method: 'PATCH', as: 'admin', body: { spec: { username: 'Shown' } }, headers: type }),
      await server.request(path, { method: 'PATCH', as: 'admin', body: { spec: { password: `${good} 2` } }, headers: type }),
    ];
    for (const answer of answers) {
      const text = await answer.text();
      expect(answer.status, text).to.equal(200);
      expect(text).to.contain('shown@example.com');
      expect(text, answer.url).not.to.match(/password"|old_password|hash|salt|argon2|correct horse/);
    }
  });

  it('is in the next list, and refuses the same email in another case', async () => {
    expect((await create({ email: 'kim@example.com', password: good })).status).to.equal(201);
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    const list = (await (await server.request('/auth/v2/users?filterBy=email,kim@', { as: 'viewer' })).json()) as { items: User[] };
    expect(list.items.map((user) => user.spec.username)).to.deep.equal(['kim@example.com']);

    const again = await create({ email: 'KIM@example.com', password: good });
    expect(again.status).to.equal(409);
    expect(((await again.json()) as Status).reason).to.equal('AlreadyExists');
  });

  it('K5 names the address of a user who exists already, at its field, also right after another replica made it', async () => {
    const replica = await server.replica();
    const other = { email: 'Lou@Example.com', password: good };
    const answers = await Promise.all([server.url, replica.url, server.url, replica.url].map((at) => create(other, { at })));
    const statuses = await Promise.all(answers.map(async (answer) => (await answer.json()) as Status));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409]);
    for (const query of ['', '?dryRun=All']) statuses.push((await (await create(other, { query })).json()) as Status);
    for (const { code, message, details } of statuses.filter(({ code }) => code === 409)) {
      expect([code, message]).to.deep.equal([409, 'users.auth.platform.io "Lou@Example.com" already exists']);
      expect(details?.causes).to.deep.equal([
        { reason: 'FieldValueDuplicate', message: 'Duplicate value: "Lou@Example.com"', field: 'spec.email' },
      ]);
    }
    await replica.stop();
  });

  it('USR-03 reports every violation at once, with its field and without the password', async () => {
    const response = await create(
      {
        email: 'ünï@example.com',
        password: 'password',
        username: 'x'.repeat(129),
        mobile: 'call me',
        expired: { begin: '2027-01-01T00:00:00Z', end: '2026-01-01T00:00:00Z' },
        is_admin: true,
        ids: [],
        state: 'active',
        connector_type: 'ldap',
      },
      { metadata: { name: 'other', generateName: 'x-', labels: { 'auth.platform.io/user.state': 'x' } }, status: {} },
    );
    const text = await response.text();

    expect(response.status, text).to.equal(422);
    expect(text).not.to.contain('"password"');
    const found = (JSON.parse(text) as Status).details?.causes?.map(({ reason, field }) => `${field} ${reason}`);
    expect(found).to.have.members([
      'spec.email FieldValueInvalid',
      'spec.password FieldValueInvalid',
      'spec.username FieldValueInvalid',
      'spec.mobile FieldValueInvalid',
      'spec.expired FieldValueInvalid',
      'spec.is_admin FieldValueForbidden',
      'spec.ids FieldValueForbidden',
      'spec.state FieldValueForbidden',
      'spec.connector_type FieldValueForbidden',
      'metadata.generateName FieldValueForbidden',
      'metadata.labels FieldValueForbidden',
      'status FieldValueForbidden',
    ]);
  });

  it('USR-03 takes no name that looks like another, and one only once in whatever case', async () => {
    expect((await create({ email: 'chief', password: good, username: '../x' })).status).to.equal(201);
    for (const email of ['Chief', 'CHIEF', 'cHiEf']) {
      const again = await create({ email, password: good });
      expect([again.status, ((await again.json()) as Status).reason], email).to.deep.equal([409, 'AlreadyExists']);
    }
    const hostile = {
      'a path': '../x',
      'a trailing space': 'chief ',
      'full-width letters': 'ｃｈｉｅｆ',
      'a Cyrillic letter': 'аdmin@example.com',
      'a ligature': 'chieﬀ',
      'a control character': 'chief\u0000',
      'a line break': 'chief\n',
      'a name of Kubernetes': 'system:admin',
      'too many letters': `${'x'.repeat(300)}@example.com`,
    };
    for (const [what, email] of Object.entries(hostile)) {
      const refused = await create({ email, password: good });
      expect(refused.status, what).to.equal(422);
      expect(
        (await causes(refused)).map(({ field }) => field),
        what,
      ).to.deep.equal(['spec.email']);
    }
    for (const username of ['x'.repeat(300), 'two\nlines', '\u202Eevil']) {
      const refused = await create({ email: 'named@example.com', password: good, username });
      expect(refused.status, JSON.stringify(username)).to.equal(422);
      expect((await causes(refused)).map(({ field }) => field)).to.deep.equal(['spec.username']);
    }
  });

  it('refuses a name that is not the one of the rule', async () => {
    const response = await create({ email: 'lee@example.com', password: good }, { metadata: { name: 'lee' } });
    expect(response.status).to.equal(422);
    expect((await causes(response)).map(({ field }) => field)).to.deep.equal(['metadata.name']);
  });

  it('refuses unknown fields, drops them with a warning, or drops them', async () => {
    const spec = { email: 'max@example.com', password: good, emial: 'x' };
    const strict = await create(spec);
    expect(strict.status).to.equal(400);
    expect(((await strict.json()) as Status).message).to.equal('strict decoding error: unknown field "spec.emial"');

    const warned = await create(spec, { query: '?fieldValidation=Warn' });
    expect(warned.status).to.equal(201);
    expect(warned.headers.get('warning')).to.equal('299 - "unknown field \\"spec.emial\\""');
    const ignored = await create({ ...spec, email: 'max2@example.com' }, { query: '?fieldValidation=Ignore' });
    expect(ignored.status).to.equal(201);
    expect(ignored.headers.get('warning')).to.equal(null);
  });

  it('warns of fields whatever they are called, and however many there are', async () => {
    const odd = await create(
      { email: 'odd@example.com', password: good, 'größe\n㏮\u0085': 1 },
      { query: '?fieldValidation=Warn&dryRun=All' },
    );
    expect(odd.status).to.equal(201);
    expect(odd.headers.get('warning')).to.equal('299 - "unknown field \\"spec.gr\\\\u00f6\\\\u00dfe\\\\n\\\\u33ee\\\\u0085\\""');

    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`unknown${index}`.padEnd(400, 'x'), 1]));
    const bounded = await create({ email: 'odd@example.com', password: good, ...many }, { query: '?fieldValidation=Warn&dryRun=All' });
    expect(bounded.status).to.equal(201);
    expect(bounded.headers.get('warning')?.length).to.be.within(2048, 4224);
  });

  it('checks everything and changes nothing on a dry run', async () => {
    const response = await create({ email: 'dry@example.com', password: good }, { query: '?dryRun=All' });
    expect(response.status).to.equal(201);
    expect((await server.kubernetes.call('GET', `${users}/${nameOf('dry@example.com')}`)).status).to.equal(404);
    expect((await server.kubernetes.call('GET', secretOf('dry@example.com'))).status).to.equal(404);
    expect((await create({ email: 'dry@example.com', password: 'short' }, { query: '?dryRun=All' })).status).to.equal(422);
  });

  it('N15 requires a new password at the first login if the caller requests it, and keeps the field out of the record', async () => {
    const response = await create({ email: 'due@example.com', password: good, must_change_password: true });
    const text = await response.text();
    expect(response.status, text).to.equal(201);
    expect(text).not.to.contain('must_change_password');
    expect((JSON.parse(text) as User).status).to.include({ phase: 'Normal', mustChangePassword: true });
    const { body } = await server.kubernetes.call('GET', `${users}/${nameOf('due@example.com')}`);
    expect((body as User).status).to.include({ mustChangePassword: true });
    expect((body as User).spec).not.to.have.property('must_change_password');

    const kept = await create({ email: 'kept@example.com', password: good, must_change_password: false });
    expect(((await kept.json()) as User).status).to.include({ mustChangePassword: false });
    const untyped = await create({ email: 'wrong@example.com', password: good, must_change_password: 'yes' });
    expect(untyped.status).to.equal(422);
    expect((await causes(untyped)).map(({ field }) => field)).to.deep.equal(['spec.must_change_password']);
  });

  it('N15 refuses the field in a PATCH, which changes nothing', async () => {
    expect((await create({ email: 'patched@example.com', password: good })).status).to.equal(201);
    const path = `/auth/v1/users/${nameOf('patched@example.com')}`;
    const body = { spec: { password: `${good} 2`, must_change_password: true } };
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const response = await server.request(path, { method: 'PATCH', as: 'manager', body, headers });
    expect(response.status).to.equal(422);
    const [cause] = await causes(response);
    expect(cause).to.include({ reason: 'FieldValueForbidden', field: 'spec.must_change_password' });
    expect(cause?.message).to.contain('users.passwordPolicy.changeAfterReset');
    const { body: record } = await server.kubernetes.call('GET', `${users}/${nameOf('patched@example.com')}`);
    expect((record as User).status).to.include({ mustChangePassword: false });
  });

  it('USR-04 lets one of fifty at once on two replicas win, with its own password', async () => {
    const replica = await server.replica();
    try {
      const statuses = await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          const email = index % 3 ? 'one@example.com' : 'ONE@example.com';
          return (await create({ email, password: `${good} ${index}` }, { at: index % 2 ? server.url : replica.url })).status;
        }),
      );
      expect(statuses.filter((status) => status === 201)).to.have.length(1);
      expect(statuses.filter((status) => status === 409)).to.have.length(49);
      const { body } = await server.kubernetes.call('GET', secretOf('one@example.com'));
      const hash = Buffer.from((body as { data: { hash: string } }).data.hash, 'base64').toString();
      expect(await new Passwords().verify(`${good} ${statuses.indexOf(201)}`, hash)).to.equal('match');
    } finally {
      await replica.stop();
    }
  });

  it('takes an encrypted password, and says one thing whatever is wrong with one', async () => {
    const { ts, pubkey } = (await (await server.request('/auth/v1/pubkey')).json()) as { ts: string; pubkey: string };
    const seal = (content: unknown) =>
      publicEncrypt(
        { key: pubkey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' },
        Buffer.from(JSON.stringify(content)),
      ).toString('base64');
    expect((await create({ email: 'enc@example.com', password: seal({ ts, password: good }) })).status).to.equal(201);

    const broken = [seal({ ts: '1', password: good }), seal({ password: good }), Buffer.alloc(256, 7).toString('base64')];
    const answers = await Promise.all(broken.map((password) => create({ email: 'enc2@example.com', password }).then(causes)));
    for (const answer of answers) {
      expect(answer.map(({ field }) => field)).to.deep.equal(['spec.password']);
      expect(answer).to.deep.equal(answers[0]);
    }
  });

  it('AUZ-08 answers 403 to callers without permission before it reads the body, and 401 without a token', async () => {
    expect((await create({ nonsense: true }, { as: 'nobody' })).status).to.equal(403);
    expect((await server.request('/auth/v1/users', { method: 'POST', body: {} })).status).to.equal(401);
  });

  it('hands no user the rights that are bound to a name', async () => {
    await server.kubernetes.apply(clusterRoleBinding('left-over', 'cluster-admin', { kind: 'User', name: 'boss@example.com' }));
    // The service hears of the binding a moment later.
    await eventually(
      async () => (await create({ email: 'boss@example.com', password: good }, { query: '?dryRun=All' })).status,
      (status) => status === 403,
    );
    const refused = await create({ email: 'boss@example.com', password: good });
    expect(refused.status).to.equal(403);
    expect(((await refused.json()) as Status).message).to.contain('cannot impersonate resource "users"');
    expect((await server.kubernetes.call('GET', `${users}/${nameOf('boss@example.com')}`)).status).to.equal(404);
  });
});

describe('POST /auth/v1/users where users.passwordPolicy.changeOnFirstLogin is on', () => {
  const server = forSuite(() => startServer({ config: { users: { passwordPolicy: { changeOnFirstLogin: true } } } }));

  before(async () => {
    await grant(server.kubernetes, 'manager', 'atrium-users-admin');
  });

  it('N15 requires the change without the field, and refuses a caller who says false', async () => {
    const create = (spec: unknown) => server.request('/auth/v1/users', { method: 'POST', as: 'manager', body: { spec } });
    const plain = (await (await create({ email: 'plain@example.com', password: good })).json()) as User;
    expect(plain.status).to.include({ mustChangePassword: true });

    const refused = await create({ email: 'free@example.com', password: good, must_change_password: false });
    expect(refused.status).to.equal(422);
    const [cause] = ((await refused.json()) as Status).details?.causes ?? [];
    expect(cause).to.include({ reason: 'FieldValueInvalid', field: 'spec.must_change_password' });
    expect(cause?.message).to.contain('users.passwordPolicy.changeOnFirstLogin');
    expect((await server.kubernetes.call('GET', `${users}/${nameOf('free@example.com')}`)).status).to.equal(404);
  });
});
