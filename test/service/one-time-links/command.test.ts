import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Trusting } from '../../support/trusting.ts';
import { Desk } from '../factors/desk.ts';
import { Machine, startAddress } from '../kubectl-atrium/machine.ts';
import { play } from '../kubectl-atrium/play-browser.ts';
import { Clock } from '../login/support.ts';
import { passwordForm, visit } from './office.ts';

const password = 'correct horse';
const [jane, joe, chief, manager] = ['jane@example.com', 'joe@example.com', 'chief@example.com', 'manager@example.com'] as const;

describe('kubectl atrium users', () => {
  const clock = new Clock();
  const service = forSuite(() =>
    startEmbeddedLogin({
      emails: [jane, joe, chief, manager],
      password,
      login: { audiences: ['kubectl'], stepUp: { maxAge: '5m' } },
      now: clock.now,
    }),
  );
  const machine = forSuite(
    () => Machine.create(),
    (one) => one.remove(),
  );
  const dispatcher = forSuite(
    async () => new Trusting(readFileSync(service.caFile, 'utf8')),
    (agent) => agent.close(),
  );
  const options = () => ['--issuer', `${service.url}/identity`, '--ca-file', service.caFile, '--no-browser'];
  const player = () => ({ person: { email: manager, password }, dispatcher });

  before(async () => {
    await service.admin.apply(
      clusterRoleBinding('manages', 'atrium-users-admin', { kind: 'User', name: manager }),
      clusterRoleBinding('chief-views', 'view', { kind: 'User', name: chief }),
    );
    expect(await machine.logIn(options(), player())).to.include({ code: 0 });
  });

  it('asks for a fresh login where the kept one is too old, and shows the link alone', async () => {
    clock.advance(360);
    const running = machine.start(['users', 'link', jane, ...options()]);
    const address = await startAddress(running);
    // The issuer uses the real time, by which the login that begins now is recent.
    clock.reset();
    const begun = await play(address, player());
    expect(begun.status).to.equal(200);
    const { code, stdout, stderr } = await running.finished;

    expect(code, stderr).to.equal(0);
    expect(stderr)
      .to.contain('This operation requires a recent login.')
      .and.to.match(/works once, until \d{4}-/);
    const link = stdout.trim();
    expect(link.startsWith(`${service.url}/identity/link/`)).to.equal(true);
    expect((await visit(service, link, passwordForm('quite another staple'))).status).to.equal(200);
    expect((await service.logIn(jane, 'quite another staple')).status).to.equal(200);
  });

  it('makes a user, and a link with which the user chooses the password', async () => {
    await machine.logIn(options(), player());
    const email = 'new@example.com';
    const { code, stdout, stderr } = await machine.run(['users', 'create', email, '--name', 'New One', ...options()]);

    expect(code, stderr).to.equal(0);
    expect(stderr).to.contain(`The user ${email} is made.`);
    expect((await visit(service, stdout.trim(), passwordForm('quite another staple'))).status).to.equal(200);
    expect((await service.logIn(email, 'quite another staple')).status).to.equal(200);
    const again = await machine.run(['users', 'create', email, ...options()]);
    expect(again).to.include({ code: 1, stdout: '' });
    expect(again.stderr).to.contain(email).and.to.contain('already exists');
  });

  it('takes the second factors from a user', async () => {
    const desk = await Desk.of(service, joe);
    expect(await desk.enrol()).to.equal(200);
    await machine.logIn(options(), player());
    const { code, stdout, stderr } = await machine.run(['users', 'reset-factors', joe, ...options()]);

    expect({ code, stdout }, stderr).to.deep.equal({ code: 0, stdout: '' });
    expect(stderr).to.contain('has no second factor now');
    expect((await service.logIn(joe, password)).status).to.equal(200);
    const refused = await machine.run(['users', 'reset-factors', chief, ...options()]);
    expect(refused).to.include({ code: 1 });
    expect(refused.stderr).to.contain('cannot impersonate');
  });

  it('says why the service refuses a link', async () => {
    await machine.logIn(options(), player());
    const bound = await machine.run(['users', 'link', chief, ...options()]);
    expect(bound).to.include({ code: 1, stdout: '' });
    expect(bound.stderr).to.contain('cannot impersonate');
    const other = await machine.run(['users', 'link', jane, '--issuer', 'https://issuer.example.com']);
    expect(other).to.include({ code: 1, stdout: '' });
    expect(other.stderr).to.contain('embedded issuer');
  });
});
