/** `kubectl atrium access` with users of the embedded issuer: jane asks, carl decides. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import { eventually } from '../../support/cluster-admin.ts';
import type { Finished } from '../../support/command.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { isAllowed } from '../../support/grants.ts';
import { Trusting } from '../../support/trusting.ts';
import { WebhookReceiver } from '../access-requests/receiver.ts';
import { aPolicy, user } from '../access-requests/support.ts';
import { aNamespace } from '../bindings/support.ts';
import { MailServer } from '../one-time-links/mail-server.ts';
import { Machine } from './machine.ts';

const password = 'correct horse';
const [jane, carl, joe] = ['jane@example.com', 'carl@example.com', 'joe@example.com'] as const;
const subjects = [user(jane)];
const approvers = [user(carl)];
const asking = ['access', 'request', 'view', '-n', 'shop', '--for', '30m', '--reason', 'the shop is down'];

describe('kubectl atrium access', () => {
  const free = forSuite(
    async () => ({ port: await freePort() }),
    () => undefined,
  );
  const receiver = forSuite(
    () => WebhookReceiver.start(),
    (one) => one.stop(),
  );
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [jane, carl, joe],
      password,
      credentials: 'impersonate',
      login: { audiences: ['kubectl'], stepUp: { maxAge: '15m' } },
      features: { accessRequests: true },
      smtp: { host: '127.0.0.1', port: free.port, from: 'Atrium <no-reply@example.com>' },
      accessRequests: { webhooks: [{ name: 'all', url: receiver.url, secretFile: receiver.secretFile }] },
    }),
  );
  const mailServer = forSuite(
    () => MailServer.start({ port: free.port, key: service.cluster.serving.key, cert: service.cluster.serving.certificate }),
    (one) => one.stop(),
  );
  const aMachine = () =>
    forSuite(
      () => Machine.create(),
      (one) => one.remove(),
    );
  const [requester, approver, other] = [aMachine(), aMachine(), aMachine()];
  const dispatcher = forSuite(
    async () => new Trusting(readFileSync(service.caFile, 'utf8')),
    (agent) => agent.close(),
  );
  const options = () => ['--issuer', `${service.url}/identity`, '--ca-file', service.caFile, '--no-browser'];
  const run = (machine: Machine, ...args: readonly string[]) => machine.run([...args, ...options()]);
  const nameIn = ({ stdout }: Finished) => /areq-[0-9a-f]{16}/.exec(stdout)?.[0] ?? '';
  const mayListPods = () => isAllowed(service.admin, jane, { verb: 'list', group: '', resource: 'pods', ...{ namespace: 'shop' } });

  before(async () => {
    await service.admin.apply(
      aNamespace('shop'),
      aPolicy('one', { subjects, approvers }),
      aPolicy('edits', { subjects, approvers, roleRefs: ['edit'], approvals: 2 }),
      aPolicy('edits-too', { subjects, approvers, roleRefs: ['edit'], scope: { namespaces: { selector: { matchLabels: { a: 'b' } } } } }),
      aPolicy('glass', { subjects, approvers, roleRefs: ['admin'], breakGlass: true, requireStepUp: true }),
    );
    for (const [machine, email] of [
      [requester, jane],
      [approver, carl],
      [other, joe],
    ] as const)
      expect(await machine.logIn(options(), { person: { email, password }, dispatcher })).to.include({ code: 0 });
    await eventually(
      () => run(requester, 'access', 'policies'),
      ({ stdout }) => ['one', 'edits', 'edits-too', 'glass'].every((name) => stdout.includes(`\n${name} `)),
    );
  });

  it('lists the policies by which the user may ask', async () => {
    const { stdout } = await run(requester, 'access', 'policies');
    expect(stdout.split('\n')[0]).to.match(/^NAME +ROLES +PLACES +MAX +APPROVALS$/);
    expect(stdout)
      .to.match(/\none +view +shop +1h +1\n/)
      .and.to.match(/\nedits-too +edit +by label /);
    const { items } = JSON.parse((await run(requester, 'access', 'policies', '-o', 'json')).stdout);
    expect(items).to.have.length(4);
    expect((await run(other, 'access', 'policies')).stdout.trimEnd().split('\n')).to.have.length(1);
  });

  it('asks, finds the request in the inbox, approves and ends it, with exit codes', async () => {
    const asked = await run(requester, ...asking);
    expect(asked.code, asked.stderr).to.equal(3);
    const name = nameIn(asked);
    expect(asked).to.include({ stdout: `${name} Pending\n`, stderr: '' });
    const inbox = await run(approver, 'access', 'list', '--inbox');
    expect(inbox).to.include({ code: 0 });
    expect(inbox.stdout).to.match(new RegExp(`\n${name} +${jane} +view +shop +Pending\n`));
    expect((await run(other, 'access', 'list')).stdout).not.to.contain(name);

    const own = await run(requester, 'access', 'approve', name);
    expect(own).to.include({ code: 1, stdout: '' });
    expect(own.stderr).to.contain('another person');
    const approved = await run(approver, 'access', 'approve', name, '-o', 'json', '--comment', 'for this incident');
    expect(approved.code, approved.stderr).to.equal(0);
    expect(JSON.parse(approved.stdout).status).to.include({ phase: 'Active' });
    await eventually(mayListPods, Boolean);

    expect(await run(requester, 'access', 'end', name)).to.include({ code: 0, stdout: `${name} Ended\n` });
    expect(await run(approver, 'access', 'deny', name)).to.include({ code: 1, stdout: '' });
  });

  it('waits for the decision', async () => {
    const waiting = requester.start([...asking, '--wait', ...options()]);
    await eventually(
      async () => waiting.output.stderr,
      (text) => text.includes('waits for approval'),
    );
    const name = /areq-\w+/.exec(waiting.output.stderr)?.[0] ?? '';
    expect(await run(approver, 'access', 'deny', name)).to.include({ code: 0, stdout: `${name} Denied\n` });
    const denied = await waiting.finished;
    expect(denied.code).to.equal(1);
    expect(denied.stdout).to.equal(`${name} Denied\n`);
    const given = requester.start([...asking, '--wait', ...options()]);
    await eventually(
      async () => given.output.stderr,
      (text) => text.includes('waits for approval'),
    );
    const next = /areq-\w+/.exec(given.output.stderr)?.[0] ?? '';
    expect(await run(approver, 'access', 'approve', next)).to.include({ code: 0 });
    const { code, stdout } = await given.finished;
    expect(code).to.equal(0);
    expect(stdout).to.match(/^areq-\w+ Active until \d{4}-\S+Z\n$/);
    await run(requester, 'access', 'end', next);
  });

  it('does not choose a policy where several give the role, and names the available ones', async () => {
    const several = await run(requester, 'access', 'request', 'edit', '-n', 'shop', '--for', '30m', '--reason', 'the shop is down');
    expect(several).to.include({ code: 1, stdout: '' });
    expect(several.stderr).to.contain('--policy edits, edits-too');
    const none = await run(requester, 'access', 'request', 'none', '-n', 'shop', '--for', '30m');
    expect(none.stderr).to.contain('no policy lets you ask for none');
    const long = await run(requester, 'access', 'request', 'view', '-n', 'shop', '--for', '2h', '--reason', 'the shop is down');
    expect(long).to.include({ code: 1, stdout: '' });
    expect(long.stderr).to.contain('may not be more than 3600');
    expect((await run(requester, 'access', 'request', 'view', '-n', 'shop', '--for', 'ever')).code).not.to.equal(0);
  });

  it('asks the console at another address, and sends no token without TLS', async () => {
    const given = await run(requester, 'access', 'policies', '--console', `${service.url}/`);
    expect(given.stdout, given.stderr).to.contain('edits-too');
    const other = await run(requester, 'access', 'policies', '--console', receiver.url.replace('127.0.0.1', 'console.example.com'));
    expect(other.code).not.to.equal(0);
    expect(other.stderr).to.contain('must be an https URL');
    expect((await run(requester, 'access', 'policies', '--console', 'https://127.0.0.1:1')).code).to.equal(1);
  });

  it('takes a role by break-glass, of which mail and webhooks tell, and which an approver reviews', async () => {
    const words = ['access', 'request', 'admin', '-n', 'shop', '--for', '30m', '--reason', 'the shop is down', '--break-glass'];
    const taken = await run(requester, ...words);
    expect(taken.code, taken.stderr).to.equal(0);
    const name = nameIn(taken);
    expect(taken.stdout).to.match(/^areq-\w+ Active until /);
    expect((await receiver.until(name, 'access.breakglass')).body.data).to.include({ requester: jane, role: 'admin', breakGlass: true });
    const mail = await eventually(
      async () => mailServer.mails.find(({ to, body }) => to.includes(carl) && body.includes('without an approval')),
      (found) => found !== undefined,
    );
    expect(mail?.link).to.equal(`${service.url}/requests/${name}`);
    expect(await run(requester, 'access', 'review', name)).to.include({ code: 1, stdout: '' });
    expect((await run(approver, 'access', 'review', name, '--comment', 'it was needed')).code).to.equal(0);
    expect((await receiver.until(name, 'access.reviewed')).body.data).to.deep.include({ review: { by: carl } });
    expect((await run(approver, 'access', 'review', name)).code).to.equal(1);
    expect((await run(requester, 'access', 'end', name)).code).to.equal(0);
  });

  it('is pending while further approvals are needed, and follows the list', async () => {
    const asked = await run(
      requester,
      'access',
      'request',
      'edit',
      '-n',
      'shop',
      '--for',
      '1h',
      '--reason',
      'the shop is down',
      '--policy',
      'edits',
    );
    const name = nameIn(asked);
    const watching = approver.start(['access', 'list', '-w', ...options()]);
    await eventually(
      async () => watching.output.stdout,
      (text) => text.includes(name),
    );
    expect(await run(approver, 'access', 'approve', name)).to.include({ code: 3, stdout: `${name} Pending\n` });
    await run(requester, 'access', 'end', name);
    await eventually(
      async () => watching.output.stdout,
      (text) => new RegExp(`\n${name} .* Withdrawn\n`).test(text),
    );
    watching.signal('SIGTERM');
    expect((await watching.finished).code).to.equal(143);
  });
});
