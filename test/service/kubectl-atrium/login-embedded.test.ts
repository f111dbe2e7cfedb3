import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from '../identity/issuers.ts';
import { claimsOf } from '../identity/relying-party.ts';
import { Machine, type Running, says, startAddress } from './machine.ts';
import { play } from './play-browser.ts';

const jane = { email: 'jane@example.com', password: 'correct horse' };

describe('kubectl-atrium login at the embedded issuer', () => {
  const issuers = forSuite(() => Issuers.start());
  let machine: Machine;

  before(async () => {
    await issuers.addPerson(jane.email, jane.password, { groups: ['dev'] });
  });
  beforeEach(async () => {
    machine = await Machine.create();
  });
  afterEach(() => machine.remove());

  it('logs in by the browser', async () => {
    const running = machine.start(['login', '--issuer', issuers.issuer, '--no-browser']);
    await play(await startAddress(running), { person: jane });

    expect(await running.finished).to.include({ code: 0 });
    const { tokens } = await machine.entry();
    expect(claimsOf(tokens.idToken)).to.deep.include({ aud: 'kubectl', email: jane.email, groups: ['dev'] });
    expect(tokens.refreshToken).to.be.a('string');
  });

  const codeOf = (running: Running) => says(running, /^To log in, open (\S+)\nand enter the code ([A-Z]{4}-[A-Z]{4})\n/);
  const enterCode = async (running: Running) => {
    const [place = '', code = ''] = await codeOf(running);
    const browser = issuers.browser();
    return { browser, question: await browser.submit(await browser.get(place), { user_code: code }) };
  };

  it('logs in on another device, if the person there agrees', async () => {
    const agreed = machine.start(['login', '--issuer', issuers.issuer, '--device']);
    const refused = machine.start(['login', '--issuer', issuers.issuer, '--device', '--login-hint=other']);
    const one = await enterCode(agreed);
    await one.browser.submit(await one.browser.submit(one.question, { confirm: 'yes' }), jane);
    const other = await enterCode(refused);
    await other.browser.submit(other.question, { abort: 'yes' });

    expect(await agreed.finished).to.include({ code: 0 });
    expect(agreed.output.stderr).to.contain(`Logged in as ${jane.email}.`);
    expect((await refused.finished).code).to.equal(1);
    expect(refused.output.stderr).to.match(/\nthe login failed: .*\(access_denied\)\n$/);
  });

  it('does so by itself where no browser would be seen', async () => {
    const running = machine.start(['login', '--issuer', issuers.issuer], { BROWSER: '', SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' });
    await codeOf(running);
    running.signal('SIGTERM');

    expect((await running.finished).code).to.equal(143);
  });
});
