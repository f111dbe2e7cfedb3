/** The backup of docs/operations.md: made by kubectl, and restored in a cluster without any object of it. */
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { Agent } from 'undici';
import { z } from 'zod';
import { aPolicy, user } from '../../service/access-requests/support.ts';
import type { Reviews } from '../../service/binding-reviews/support.ts';
import { aBinding, aNamespace, Bindings, bindingsPath } from '../../service/bindings/support.ts';
import { codeOf, codesIn, secretIn } from '../../service/factors/person.ts';
import { Browser } from '../../service/identity/browser.ts';
import { makePath, serviceAccount } from '../../service/tokens/tokens.ts';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Installation, localUsers, password } from './installation.ts';
import { shortIdle } from './person.ts';

const run = promisify(execFile);
const settings = { features: { accessRequests: true } };
const loginInfo = z.object({ auth_url: z.url() });
const [withFactor = '', withoutFactor = ''] = localUsers;

/** Returns a command of the page. */
async function commandOf(pattern: RegExp): Promise<string> {
  const page = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
  return pattern.exec(page)?.[0] ?? expect.fail(`the page has no ${pattern}`);
}

/** Kinds that the backup leaves out. */
const shortLived = ['sessions', 'identityrecords', 'changeproposals'];

const checkpoints = { name: 'atrium-audit', namespace: serviceNamespace };

const keySecret = z.object({ data: z.object({ 'seal.jwks': z.string(), 'identity.jwks': z.string() }) });

describe('a backup of the objects', () => {
  const dispatcher = forSuite(
    async () => new Agent(shortIdle),
    (it) => it.close(),
  );
  const before = forSuite(() => Installation.start(settings));
  const after = forSuite(() => Installation.start(settings, undefined, { isEmpty: true }));
  const asPerson = (service: Installation, person: string) => ({ authorization: `Bearer ${service.token(person)}` });

  /** @param parameters of the login @returns the page after the password */
  async function passwordOf(service: Installation, email: string, parameters = '') {
    const browser = new Browser(service.url, [service.url], { dispatcher });
    const { body } = await browser.get(`${service.url}/api/v2/token/login?token_storage=cookie&issuer=local${parameters}`);
    return { browser, page: await browser.submit(await browser.get(loginInfo.parse(JSON.parse(body)).auth_url), { email, password }) };
  }

  const restore = (file: string) =>
    run(process.execPath, [after.present.program, 'restore', file], {
      env: { KUBECONFIG: after.kubeconfig, ATRIUM_KUBERNETES__NAMESPACE: serviceNamespace },
    });

  const statusOf = async (service: Installation, path: string, headers: Record<string, string>) => {
    const answer = await fetch(service.url + path, { headers });
    await answer.arrayBuffer();
    return answer.status;
  };

  it('brings users, factors, groups, tokens, bindings and requests back, with new uids', async () => {
    const { admin } = before;
    const people = ['alice', 'bob'].map((name) => aUser(`${name}@example.com`, { subjectName: name }));
    await admin.apply(aNamespace('shop'), ...people);
    const { browser, page } = await passwordOf(before, withFactor, '&prompt=enrol&factor=totp');
    const secret = secretIn(page);
    const codesPage = await browser.submit(page, { code: codeOf(secret) });
    const [code = ''] = codesIn(codesPage);
    await browser.submit(codesPage, {});

    const made = await fetch(before.url + makePath, {
      method: 'POST',
      headers: { ...asPerson(before, 'alice'), 'content-type': 'application/json' },
      body: JSON.stringify({ description: 'pipeline' }),
    });
    const { token } = z.object({ token: z.string() }).parse(await made.json());
    expect(await statusOf(before, '/auth/v1/me', { authorization: `Bearer ${token}` })).to.equal(200);

    const members = { apiVersion: 'auth.platform.io/v1', kind: 'Group', metadata: { name: 'team' } };
    await admin.apply(
      { ...members, spec: { displayName: 'Team', users: [{ name: nameOf(withoutFactor) }] } },
      { apiVersion: 'console.platform.io/v1', kind: 'ConsolePlugin', metadata: { name: 'cost' }, spec: { displayName: 'Cost' } },
      {
        ...{ apiVersion: 'auth.platform.io/v1', kind: 'RevokedToken', metadata: { name: `rt-${'a'.repeat(40)}` } },
        spec: { kind: 'Bearer', expiration: '2100-01-01T00:00:00Z' },
      },
      aBinding('looks', { subjects: [{ kind: 'User', name: nameOf(withoutFactor) }], roleRef: 'view', scope: 'platform' }),
      aBinding('looks-at-shop', {
        ...{ subjects: [{ kind: 'User', name: nameOf(withoutFactor) }], roleRef: 'view', scope: 'namespace' },
        constraint: [{ namespace: 'shop' }],
      }),
    );
    const reviews = before.reviews();
    const lookingAtShop = async (at: Reviews) => {
      const items = await eventually(
        () => at.bindings('shop', 'admin'),
        (known) => known.some(({ binding }) => binding.userBinding === 'looks-at-shop'),
      );
      return items.find(({ binding }) => binding.userBinding === 'looks-at-shop') ?? expect.fail('no binding');
    };
    await reviews.begin('shop', { unanswered: 'End' });
    const { binding: kept, version } = await lookingAtShop(reviews);
    expect(await reviews.answer('shop', { name: kept.name, version, decision: 'Keep' }, 'admin')).to.include({ status: 200 });
    expect((await lookingAtShop(reviews)).answer).to.include({ decision: 'Kept' });
    const access = before.accessRequests();
    await access.apply(aPolicy('shop', { subjects: [user('alice')], approvers: [user('bob')] }));
    const asked = async () => {
      const { body } = await eventually(
        () => access.ask({ as: 'alice' }, { durationSeconds: 3600 }),
        ({ status }) => status === 201,
      );
      return body;
    };
    const ended = await asked();
    await access.decide({ as: 'bob' }, ended);
    await access.untilPhase(ended, 'Active');
    await access.end({ as: 'alice' }, ended);
    const { status: end } = await access.untilPhase(ended, 'Ended');
    const active = await asked();
    await access.decide({ as: 'bob' }, active);
    const { status: given } = await access.untilPhase(active, 'Active');
    await new Bindings(admin).untilBound(`ar-${active.metadata.uid}`, ['User alice in shop']);

    const annotations = { 'auth.platform.io/audit-checkpoints': '["signed"]' };
    const held = { holderIdentity: 'atrium-gone', leaseDurationSeconds: 30, renewTime: '2100-01-01T00:00:00.000000Z' };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { ...checkpoints, annotations }, spec: held };
    await admin.apply(lease);

    const directory = dirname(before.kubeconfig);
    const file = join(directory, 'atrium-backup.json');
    const { PATH = '' } = process.env;
    await run('sh', ['-ec', await commandOf(/^kubectl .* > atrium-backup\.json$/m)], {
      cwd: directory,
      env: { PATH, KUBECONFIG: before.adminKubeconfig },
    });

    await after.admin.apply(
      aNamespace('shop'),
      clusterRoleBinding('atrium-restore', 'cluster-admin', { kind: 'User', name: serviceAccount }),
    );
    const { stdout } = await restore(file);
    expect(stdout)
      .to.include(`restored: User, ${localUsers.length + people.length}\n`)
      .and.to.include('restored: AccessRequest, 2\n')
      .and.to.include('restored: ConsolePlugin, 1\n')
      .and.to.include('restored: BindingReview, 1\n')
      .and.to.include('restored: Lease, 1\n')
      .and.to.match(/^restored: RevokedToken, [1-9]/m);
    expect(stdout).not.to.include('not restored');
    const leasePath = `/apis/coordination.k8s.io/v1/namespaces/${serviceNamespace}/leases/${checkpoints.name}`;
    const { metadata: restoredLease, spec } = (await after.admin.call('GET', leasePath)).body as {
      metadata: Manifest['metadata'];
      spec: object;
    };
    expect(restoredLease.annotations).to.include(annotations);
    expect(spec).to.deep.equal({});

    // Kubernetes deletes what has an owner that does not exist.
    const owner = { apiVersion: 'auth.platform.io/v1', kind: 'User', name: 'nobody', uid: '0a8e1f7c-6d0a-4a55-9d2f-5f0c3c8f7a11' };
    const orphan = `/api/v1/namespaces/${serviceNamespace}/configmaps/orphan`;
    const metadata = { name: 'orphan', namespace: serviceNamespace, ownerReferences: [owner] };
    await after.admin.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    await eventually(
      () => after.admin.call('GET', orphan),
      ({ status }) => status === 404,
    );
    await Promise.all([after.startReplica(), after.startReplica()]);

    const { browser: again, page: asksCode } = await passwordOf(after, withFactor);
    expect(asksCode.body).to.include('name="code"');
    expect((await again.submit(asksCode, { code })).url.searchParams.has('code')).to.equal(true);
    expect((await passwordOf(after, withoutFactor)).page.url.searchParams.has('code')).to.equal(true);
    expect(await statusOf(after, '/auth/v1/me', { authorization: `Bearer ${token}` })).to.equal(200);

    const keysOf = async ({ admin: reader }: Installation) =>
      keySecret.parse((await reader.call('GET', `/api/v1/namespaces/${serviceNamespace}/secrets/atrium-keys`)).body).data;
    const [old, present] = await Promise.all([keysOf(before), keysOf(after)]);
    expect(present['seal.jwks']).to.equal(old['seal.jwks']);
    expect(present['identity.jwks']).not.to.equal(old['identity.jwks']);

    const bindings = new Bindings(after.admin);
    await bindings.untilBound('looks', [`User ${withoutFactor}`]);
    // A round begins again: answers are about the uids of the former cluster, and no binding ends for want of one.
    const begun = await after.reviews().until('shop', ({ status }) => status?.open !== undefined);
    expect(begun.status).to.deep.include({ phase: 'Open', round: 1, answers: [] });
    expect(await lookingAtShop(after.reviews())).not.to.have.property('answer');
    expect((await after.admin.call('GET', `${bindingsPath}/looks-at-shop`)).status).to.equal(200);
    const restored = after.accessRequests();
    const stored = await restored.stored(active);
    expect(stored.metadata.uid).not.to.equal(active.metadata.uid);
    expect(stored.status).to.include({ phase: 'Active', begin: given?.begin, until: given?.until });
    await bindings.untilBound(`ar-${stored.metadata.uid}`, ['User alice in shop']);
    expect((await restored.stored(ended)).status).to.include({ phase: 'Ended', ended: end?.ended });
    expect((await restored.end({ as: 'alice' }, active)).status).to.equal(200);
    await restored.untilPhase(active, 'Ended');
    await eventually(
      async () => (await after.admin.call('GET', `/apis/auth.platform.io/v1/userbindings/ar-${stored.metadata.uid}`)).status,
      (status) => status === 404,
    );
  });

  it('has each kind of the service but logins, which end, and proposals of agents', async () => {
    const kinds = (await readdir(new URL('../../../deploy/manifests/crds/', import.meta.url)))
      .map((name) => name.replace(/\.yaml$/, ''))
      .filter((name) => name !== 'kustomization' && !shortLived.includes(name.replace(/\..*/, '')));
    const [, named = ''] = /--output json (\S+) /.exec(await commandOf(/^kubectl .* > atrium-backup\.json$/m)) ?? [];
    expect(named.split(',')).to.have.members(['secrets', 'configmaps', 'leases.coordination.k8s.io', ...kinds]);
  });

  it('changes nothing while a replica runs, and continues after an interruption', async () => {
    const file = join(dirname(before.kubeconfig), 'atrium-backup.json');
    const refused = await restore(file).catch((error: unknown) => error);
    expect(refused).to.include({ code: 1 });
    expect(String((refused as { stderr: string }).stderr)).to.match(/a replica of the service runs.*scale the Deployment to 0 first/);
    for (const replica of [...after.replicas]) await after.stopReplica(replica);

    const objects = async () =>
      ((await after.admin.call('GET', '/apis/auth.platform.io/v1/users')).body as { items: Manifest[] }).items.map(
        ({ metadata }) => metadata,
      );
    const stored = await objects();
    await after.admin.remove(`/apis/auth.platform.io/v1/users/${nameOf(withoutFactor)}`);
    await after.admin.apply(aUser(withoutFactor));
    const { code, stdout, stderr } = await restore(file).then(
      (done) => ({ code: 0, ...done }),
      (error: unknown) => error as { code: number; stdout: string; stderr: string },
    );
    expect(code, stdout).to.equal(1);
    expect(stderr).to.include(`left as it is, because the name is taken: User ${nameOf(withoutFactor)}\n`);
    expect(stderr).to.match(/not restored: Secret \S+: the User \S+, which owns it, was not restored/);
    const others = (list: Manifest['metadata'][]) => list.filter(({ name }) => name !== nameOf(withoutFactor));
    expect(others(await objects())).to.deep.equal(others(stored));
  });

  it('is restored by a pod that the namespace admits', async () => {
    const command = await commandOf(/^kubectl .* run atrium-restore [^<]*/m);
    const { PATH = '' } = process.env;
    const tried = command.replace(' --rm --stdin', ' --dry-run=server --output=json');
    const env = { PATH, HOME: dirname(after.adminKubeconfig), KUBECONFIG: after.adminKubeconfig, IMAGE: 'registry.example/atrium:1' };
    const { spec } = z
      .object({
        spec: z.looseObject({ serviceAccountName: z.string(), containers: z.array(z.looseObject({ args: z.array(z.string()) })) }),
      })
      .parse(JSON.parse((await run('sh', ['-ec', tried], { env })).stdout));
    expect(spec.serviceAccountName).to.equal('atrium');
    expect(spec.containers.map(({ args }) => args)).to.deep.equal([['restore', '-']]);
  });

  it('is refused if it is not whole', async () => {
    const file = join(dirname(before.kubeconfig), 'half.json');
    const whole = await readFile(join(dirname(before.kubeconfig), 'atrium-backup.json'), 'utf8');
    await writeFile(file, whole.slice(0, whole.length / 2));
    const refused = await restore(file).catch((error: unknown) => error);
    expect(refused).to.include({ code: 1 });
    expect(String((refused as { stderr: string }).stderr)).to.include('the cluster stays as it is');
  });
});
