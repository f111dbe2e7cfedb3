import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { Command } from '../../support/command.ts';
import { freePort } from '../../support/free-port.ts';
import { tokenInText } from '../../support/token-in-text.ts';
import { Browser } from '../identity/browser.ts';
import { accessRequests, hasCurl, hasKubectl, infoFile, kubectl, loginInfo, objects, run, userInfo } from './demo-screen.ts';

describe('atrium sandbox, the demo', () => {
  let directory: string;
  let demo: Command;
  let info: z.infer<typeof infoFile>;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const path = join(directory, 'info.json');
    const frontEnd = ['--origin', 'http://localhost:5173', '--redirect-url', 'http://localhost:5173/app'];
    demo = new Command(['sandbox', '--port', `${await freePort()}`, '--users', '3', '--info', path, ...frontEnd]);
    await eventually(
      () => demo.process.exitCode !== null || demo.stdout.includes('Ctrl-C'),
      (isReady) => isReady,
    );
    expect(demo.stderr).to.equal('');
    info = infoFile.parse(JSON.parse(await readFile(path, 'utf8')));
    expect((await stat(path)).mode & 0o777).to.equal(0o600);
  });
  after(async () => {
    await demo.end();
    await rm(directory, { recursive: true });
  });

  const get = (path: string, role?: string, init: RequestInit = {}) => {
    const token = info.people.find((person) => person.role === role)?.token;
    return fetch(`${info.url}${path}`, { ...init, headers: { ...(token && { authorization: `Bearer ${token}` }), ...init.headers } });
  };

  /** Logs in with a browser without scripts, up to the answer for the console. */
  const logIn = async (role: string, { storage = 'cookie', password = '', email = '' } = {}) => {
    const person = email === '' ? info.people.find((one) => one.role === role) : { email, password };
    const browser = new Browser(info.url, [info.url]);
    const { auth_url } = loginInfo.parse(JSON.parse((await browser.get(`${info.url}/api/v2/token/login?token_storage=${storage}`)).body));
    const { url, response } = await browser.submit(await browser.get(auth_url), {
      email: person?.email ?? '',
      password: password || (person?.password ?? ''),
    });
    if (!url.searchParams.has('code')) return { browser, status: response.status };
    const answer = await browser.get(`${info.url}/api/v2/token/callback${url.search}`);
    return { browser, status: answer.response.status, userInfo: userInfo.parse(JSON.parse(answer.body)) };
  };

  it('prints one screen: the address, four people with their passwords, a line for curl and one for kubectl', () => {
    const lines = demo.stdout.trimEnd().split('\n');
    const commands = lines.filter((line) => /^ {2}(curl|kubectl) /.test(line));

    expect(lines.length).to.be.lessThanOrEqual(24);
    expect(demo.stdout).to.match(new RegExp(`^Atrium is ready after \\d+\\.\\d s: ${info.url}$`, 'm'));
    expect(info.people.map(({ role }) => role)).to.deep.equal(['admin', 'manager', 'viewer', 'nobody']);
    for (const { email, password } of info.people) expect(demo.stdout).to.match(new RegExp(`^  ${email} +${password} `, 'm'));
    expect(commands).to.deep.equal([
      `  curl '${info.url}/api/v1/modules?pretty=true'`,
      `  kubectl --kubeconfig ${info.kubeconfig} get users`,
    ]);
    expect(new Set(info.people.map(({ password }) => password))).to.have.property('size', 4);
    expect(demo.stdout).not.to.match(tokenInText).and.not.to.match(/cat_/);
  });

  it('names the requester, the clicks and the approver of an access request in three lines', () => {
    const [who, approves, ends] = demo.stdout.split('\n').filter((line) => /^ {2}(Vera asks|Ada approves|It ends) {2}/.test(line));

    expect(who).to.include('Deployments, storefront').and.include('Ask for it');
    expect(approves).to.include('Requests').and.include('Approve');
    expect(ends).to.include('End now');
    expect(demo.stdout)
      .to.match(/^ {2}viewer@example\.com .* Vera /m)
      .and.to.match(/^ {2}admin@example\.com .* Ada /m);
  });

  it('has a request that waits for Ada, and one of Vera whose access has ended at its time', async () => {
    const list = async (query: string, role: string) =>
      accessRequests.parse(await (await get(`/auth/v1/accessrequests?${query}`, role)).json()).items;
    const inbox = await eventually(
      () => list('inbox=true', 'admin'),
      (found) => found.length > 0,
    );
    const [ended, ...others] = await list('', 'viewer');
    const { begin = '', until = '', ended: endedAt = '' } = ended?.status ?? {};

    expect(inbox.map(({ spec, status }) => [spec.requester, spec.roleRef, status.phase])).to.deep.equal([
      ['priya@example.com', 'edit', 'Pending'],
    ]);
    expect(inbox[0]?.spec.reason).to.match(/^.{10,}$/);
    expect(others).to.deep.equal([]);
    expect(ended?.status).to.deep.include({ phase: 'Ended', reason: 'Expired' });
    expect([Date.parse(until) - Date.parse(begin), endedAt]).to.deep.equal([3_600_000, until]);
    expect(Date.parse(ended?.metadata.creationTimestamp ?? '')).to.be.lessThan(Date.parse(begin));
    expect((await get('/auth/v2/userbindings', 'admin')).status).to.equal(200);
  });

  it('has the door for agents, who get their tokens from its own issuer', async () => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const answer = await get('/mcp', undefined, { method: 'POST', headers, body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' });
    const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(answer.headers.get('www-authenticate') ?? '') ?? [];

    expect(answer.status).to.equal(401);
    expect(await (await fetch(metadata)).json()).to.deep.include({
      resource: `${info.url}/mcp`,
      authorization_servers: [`${info.url}/identity`],
    });
  });

  it('lets Vera ask for the role edit in the shop', async () => {
    const path = '/auth/v1/accessrequests/options?verb=patch&group=apps&resource=deployments&namespace=shop';
    const text = await (await get(path, 'viewer')).text();

    expect(text).to.include('"policy":"shop-edit"').and.include('"role":"edit"');
  });

  it('has a storefront with a history and with pods of its last revision only', async () => {
    const itemsOf = async (path: string) => {
      const answer = await get(`/api/kubernetes/${path}?labelSelector=app%3Dstorefront`, 'admin');
      return z.object({ items: z.array(z.unknown()) }).parse(await answer.json()).items;
    };
    const replicaSet = z.object({ metadata: z.object({ name: z.string() }), spec: z.object({ replicas: z.number() }) });
    const pod = z.object({ metadata: z.object({ ownerReferences: z.array(z.object({ name: z.string() })) }) });
    const sets = (await itemsOf('apis/apps/v1/namespaces/shop/replicasets')).map((item) => replicaSet.parse(item));
    const pods = (await itemsOf('api/v1/namespaces/shop/pods')).map((item) => pod.parse(item));
    const last = sets.find(({ spec }) => spec.replicas === 3)?.metadata.name;

    expect(sets.map(({ spec }) => spec.replicas)).to.have.members([0, 3]);
    expect(pods.map(({ metadata }) => metadata.ownerReferences[0]?.name)).to.deep.equal([last, last, last]);
  });

  it('has a stuck rollout that leaves all replicas of the revision before available', async () => {
    const deployment = z.object({
      status: z.object({ observedGeneration: z.int(), updatedReplicas: z.int().default(0), availableReplicas: z.int().default(0) }),
    });
    const path = '/api/kubernetes/apis/apps/v1/namespaces/payments/deployments/checkout';
    const { status } = await eventually(
      async () => deployment.parse(await (await get(path, 'admin')).json()),
      (found) => found.status.observedGeneration === 2 && found.status.updatedReplicas > 0,
    );

    expect(status).to.include({ updatedReplicas: 1, availableReplicas: 2 });
  });

  it('takes an access token, and so does its cluster', async () => {
    const headers = { 'content-type': 'application/json' };
    const made = await get('/auth/v1/accesstoken', 'manager', { method: 'POST', headers, body: '{"description":"try"}' });
    const { token } = z.object({ token: z.string() }).parse(await made.json());
    for (const one of [token, info.accessToken]) {
      const seen = await get('/api/v1/token/info', undefined, { headers: { authorization: `Bearer ${one}` } });

      expect(await seen.json()).to.include({ name: 'manager@example.com' });
      if (hasKubectl) expect(await kubectl(info, '--token', one, 'auth', 'whoami')).to.contain('manager@example.com');
    }
  });

  it('has an example of each part: set passwords, a plugin, a binding', async () => {
    const list = async (resource: string) => objects.parse(await (await get(`/apis/${resource}`, 'admin')).json()).items;
    const are = async (path: string, type: string) =>
      (await list(path)).flatMap(({ status }) => (status.conditions ?? []).filter((one) => one.type === type).map((one) => one.status));

    await eventually(
      () => are('auth.platform.io/v1/users', 'PasswordSet'),
      (statuses) => statuses.length === 11 && statuses.every((status) => status === 'True'),
    );
    if (!hasKubectl) return;
    await eventually(
      async () => [
        await kubectl(
          info,
          'get',
          'consoleplugin',
          'cost-report',
          '-o',
          'jsonpath={.status.conditions[*].type}={.status.conditions[*].status}',
        ),
        await kubectl(info, 'get', 'userbinding', 'oncall-view', '-o', 'jsonpath={.status.phase}'),
      ],
      ([plugin, binding]) => plugin === 'Available=True' && binding === 'Synced',
    );
  });

  it('synchronises with a directory, whose users log in with its password', async () => {
    const sync = async (body: object) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await get('/auth/v1/users/sync', 'admin', { method: 'PUT', headers, body: JSON.stringify(body) });
      return [answer.status, z.looseObject({ connectors: z.array(z.looseObject({})) }).parse(await answer.json()).connectors[0]];
    };
    const first = { status: 'Success', fetched: 5, created: 2, updated: 3, invalidated: 0, failed: 0 };
    const [status, planned] = await sync({ dryRun: true });
    expect(status).to.equal(200);
    expect(planned).to.include(first);
    expect((await sync({}))[1]).to.include(first);
    expect((await sync({}))[1]).to.include({ fetched: 5, created: 0, unchanged: 5 });

    const { password } = info.directory;
    const { userInfo } = await logIn('', { email: 'chloe@example.com', password });
    expect(userInfo).to.deep.include({ name: 'chloe@example.com' });
    expect(await logIn('', { email: 'chloe@example.com', password: `${password}x` })).to.not.have.property('userInfo');
    expect(await logIn('', { email: 'zoe@example.com', password })).to.not.have.property('userInfo');
  });

  it('has an address with a name, where browsers have passkeys, and lets scripts log in at the IP address, too', async () => {
    const { port } = new URL(info.url);
    expect(info.url).to.equal(`http://localhost:${port}`);
    const address = `http://127.0.0.1:${port}`;
    const callback = `${address}/api/v2/token/callback`;
    const there = new Browser(address, [address]);
    const { auth_url } = loginInfo.parse(JSON.parse((await there.get(`${address}/api/v2/token/login?redirect_uri=${callback}`)).body));
    expect(auth_url).to.match(new RegExp(`^${info.url}/identity/`));
    const atIssuer = new Browser(info.url, [info.url]);
    const page = await atIssuer.get(auth_url);
    expect(page.body).to.contain('data-passkey="get"');
    const { email = '', password = '' } = info.people.find(({ role }) => role === 'viewer') ?? {};
    const { url } = await atIssuer.submit(page, { email, password });
    expect(url.href.startsWith(`${callback}?code=`), url.href).to.equal(true);

    expect((await there.get(url)).response.status).to.equal(200);
  });

  it('lets a front-end on another port call it, and logs people in to there', async () => {
    const origin = 'http://localhost:5173';
    const allowed = async (from: string) =>
      (await get('/api/v1/modules', undefined, { headers: { origin: from } })).headers.get('access-control-allow-origin');
    const login = async (to: string) => (await get(`/api/v2/token/login?redirect_uri=${encodeURIComponent(to)}`)).status;

    expect([await allowed(origin), await allowed('http://localhost:5174')]).to.deep.equal([origin, null]);
    expect([await login(`${origin}/app`), await login(`${origin}/`)]).to.deep.equal([200, 400]);
  });

  it('serves a page, the configuration of a console and the demo objects to every client', async () => {
    const page = await get('/', undefined, { headers: { accept: 'text/html' } });
    const modules = z
      .looseObject({ environment: z.array(z.object({ key: z.string(), value: z.string() })) })
      .parse(await (await get('/api/v1/modules')).json());
    const plugins = z
      .looseObject({ items: z.array(z.looseObject({ path: z.string() })) })
      .parse(await (await get('/api/v1/console-plugins')).json());

    expect([page.status, page.headers.get('content-type')]).to.deep.equal([200, 'text/html; charset=utf-8']);
    expect(modules.environment.map(({ key }) => key)).to.include.members(['title', 'theme', 'CONSOLE_PUBLIC_CLUSTER']);
    const files = ['entry.js', 'locales/de.json', 'locales/en.json', 'locales/zh.json', 'plugin-manifest.json', 'style.css'];
    expect(plugins.items.map(({ path }) => path)).to.deep.equal(files.map((name) => `/plugins/cost-report/${name}`));
  });

  it('shows each person what the roles of the cluster allow', async () => {
    const users = async (role?: string) => (await get('/auth/v2/users?limit=1', role)).status;
    const image = async (role?: string) => (await get('/api/v1/cm/release-poster/poster.svg', role)).status;

    expect([await users('admin'), await users('manager'), await users('viewer'), await users('nobody'), await users()]).to.deep.equal([
      200, 200, 200, 403, 401,
    ]);
    expect([await image('admin'), await image('nobody'), await image()]).to.deep.equal([200, 403, 404]);
    expect((await get('/api/v1/cm/console-logo/logo.png')).headers.get('content-type')).to.equal('image/png');
  });

  it('lets a person log in with an e-mail address and a password', async () => {
    const { browser, userInfo } = await logIn('manager');
    const outsider = await logIn('nobody');

    expect(userInfo).to.include({ name: 'manager@example.com' });
    expect(userInfo?.ext.token_storage).to.equal('cookie');
    expect((await browser.get(`${info.url}/auth/v2/users?limit=1`)).response.status).to.equal(200);
    expect((await outsider.browser.get(`${info.url}/auth/v2/users?limit=1`)).response.status).to.equal(403);
    expect(await logIn('manager', { password: 'not-the-password' })).to.not.have.property('userInfo');
  });

  it('lets a script log in for a bearer token, which the cluster takes, too', async () => {
    const token = (await logIn('viewer', { storage: 'local' })).userInfo?.ext.token;
    const users = await get('/auth/v2/users?limit=1', undefined, { headers: { authorization: `Bearer ${token?.access_token}` } });

    expect(info.issuer).to.equal(`${info.url}/identity`);
    expect(users.status).to.equal(200);
    if (hasKubectl) expect(await kubectl(info, '--token', token?.id_token ?? '', 'get', 'users')).to.contain('jane@example.com');
  });

  it('has the named people and as many generated ones as asked for', async () => {
    const { total } = z.looseObject({ total: z.number() }).parse(await (await get('/auth/v2/users', 'viewer')).json());

    expect(total).to.be.oneOf([12 + 3, 12 + 3 + 2]);
  });

  if (hasCurl && hasKubectl) {
    it('prints lines that work', async () => {
      const lines = demo.stdout.split('\n').filter((line) => /^ {2}(curl|kubectl) /.test(line));
      const { stdout } = await run('sh', ['-ec', lines.join('\n')], { cwd: directory });

      expect(stdout).to.contain('"Atrium demo"').and.to.contain('jane@example.com');
    });
  }

  if (hasKubectl) {
    it('lets kubectl list the people with their columns', async () => {
      const [header = '', ...rows] = (await kubectl(info, 'get', 'users')).trimEnd().split('\n');

      expect(header.split(/\s{2,}/).map((column) => column.trim())).to.include.members([
        'NAME',
        'USERNAME',
        'DISPLAY NAME',
        'SOURCE',
        'PHASE',
        'LAST LOGIN',
        'AGE',
      ]);
      expect(rows).to.have.length.within(15, 17);
      expect(rows.find((row) => row.includes('jane@example.com'))).to.match(/Jane Doe\s+Local\s+Normal/);
    });

    it('has short names, e-mail addresses beside the names of records, and no records of its own in the category', async () => {
      const lines = async (...args: string[]) => (await kubectl(info, 'get', ...args)).trimEnd().split('\n');
      const subjects = await eventually(
        () => lines('ub', '-o', 'wide'),
        ([, line = '']) => line.includes('@'),
      );

      expect(subjects[1]).to.match(
        /^oncall-view +Group +oncall +namespace +view +Synced +\["Group oncall","User priya@example\.com"\] +\d+/,
      );
      expect((await lines('at')).join('\n')).to.match(/ manager@example\.com +Nightly report /);
      expect(await lines('cp', '-o', 'name')).to.deep.equal(['consoleplugin.console.platform.io/cost-report']);
      expect(
        await lines('usr', '--field-selector', 'spec.email=jane@example.com', '-o', 'jsonpath={.items[*].spec.username}'),
      ).to.deep.equal(['Jane Doe']);
      const members = await eventually(
        () => lines('grp', 'oncall', '-o', 'jsonpath={.status.members[*].email}'),
        ([line = '']) => line.includes('tomas@'),
      );
      expect(members).to.deep.equal(['jane@example.com amara@example.com tomas@example.com']);
      const category = (await lines('platform-auth', '-o', 'name')).map((name) => name.split('.')[0]);
      expect([...new Set(category)].sort()).to.deep.equal([
        'accesspolicy',
        'accessrequest',
        'accesstoken',
        'bindingreview',
        'consoleplugin',
        'group',
        'user',
        'userbinding',
      ]);
      expect(await lines('revokedtokens,identityrecords', '-A', '-o', 'name')).not.to.deep.equal(['']);
    });

    it('separates permissions on users from the permission to impersonate them', async () => {
      const can = (...args: string[]) =>
        kubectl(info, 'auth', 'can-i', ...args, '--as', 'manager@example.com').catch(({ stdout }: { stdout: string }) => stdout);

      expect(await can('impersonate', 'users.auth.platform.io')).to.equal('no\n');
      expect(await can('delete', 'users.auth.platform.io')).to.equal('yes\n');
      expect(await can('impersonate', 'users')).to.equal('no\n');
    });

    it('answers the questions of docs/kubectl.md about impersonation', async () => {
      const review = join(directory, 'review.json');
      const resourceAttributes = { verb: 'impersonate', resource: 'users', name: 'jane@example.com' };
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
      await writeFile(review, JSON.stringify(body));
      const ask = (...args: string[]) =>
        kubectl(info, 'create', '--raw', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', '-f', review, ...args);

      expect(await ask()).to.contain('"allowed":true');
      expect(await ask('--token', info.people.find(({ role }) => role === 'manager')?.token ?? '')).to.contain('"allowed":false');
    });

    it('shows a ConfigMap that kubectl changed in the next answers', async () => {
      await kubectl(
        info,
        '-n',
        'atrium-system',
        'patch',
        'configmap',
        'console-environment',
        '--type',
        'merge',
        '-p',
        '{"data":{"theme":"dark"}}',
      );

      await eventually(
        async () => z.looseObject({ theme: z.string() }).parse(await (await get('/api/v1/envs')).json()).theme,
        (theme) => theme === 'dark',
      );
    });
  }

  it('stops on SIGTERM: not ready at once, requests in flight finish, exit 0', async () => {
    const watch = await get('/apis/auth.platform.io/v1/users?watch=true', 'admin');
    demo.signal('SIGTERM');
    // Both requests are concurrent: the demo accepts late requests for three seconds only, and a slow machine may be later still.
    const answers = await eventually(
      () => Promise.all([get('/readyz'), get('/api/v1/modules')]).catch(() => undefined),
      (given) => given === undefined || given[0].status === 503,
    );

    if (answers !== undefined) {
      const [notReady, late] = answers;
      expect(await notReady.json()).to.include({ kind: 'Status', code: 503 });
      expect(late.status).to.equal(200);
    }
    await watch.body?.cancel().catch(() => undefined);
    expect((await demo.finished).code).to.equal(0);
  });

  it('leaves nothing behind that holds a secret', () => {
    expect([existsSync(info.kubeconfig), existsSync(join(directory, 'info.json'))]).to.deep.equal([false, false]);
  });
});
