import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { json, never } from '../login/provider/answers.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { Machine } from './machine.ts';

describe('kubectl-atrium logout', () => {
  const provider = forSuite(() => TestProvider.start({ clientID: 'kubectl' }));
  let machine: Machine;
  let options: string[];

  before(async () => {
    options = ['--issuer', provider.issuer];
  });
  beforeEach(async () => {
    machine = await Machine.create();
    provider.misbehave();
    await machine.logIn(options);
    provider.forgetRequests();
  });
  afterEach(() => machine.remove());

  it('ends the refresh token at the issuer and forgets the login', async () => {
    const { refreshToken } = (await machine.entry()).tokens;

    expect(await machine.run(['logout', ...options])).to.deep.equal({ code: 0, stdout: '', stderr: 'Logged out.\n' });
    const revoked = provider.requests.find(({ endpoint }) => endpoint === 'revocation');
    expect(revoked?.parameters.get('token')).to.equal(refreshToken);
    expect(revoked?.parameters.get('token_type_hint')).to.equal('refresh_token');
    expect(await machine.kept()).to.deep.equal([]);
    expect((await machine.token(options, { interactive: false })).code).to.equal(1);
    expect((await machine.run(['logout', ...options])).stderr).to.equal('No login was found.\n');
  });

  it('forgets every login on this machine, if that is asked for', async () => {
    await machine.logIn([...options, '--scopes=openid offline_access']);
    expect(await machine.kept()).to.have.length(2);
    provider.forgetRequests();

    expect((await machine.run(['logout', '--all'])).code).to.equal(0);
    expect(provider.hits('revocation')).to.equal(2);
    expect(await machine.kept()).to.deep.equal([]);
    expect((await machine.run(['logout', '--all'])).stderr).to.equal('No login was found.\n');
  });

  it('deletes it also if the issuer has no such endpoint, or does not answer', async () => {
    provider.misbehave({ metadata: { revocation_endpoint: undefined } });
    expect((await machine.run(['logout', ...options])).code).to.equal(0);
    provider.misbehave();

    for (const [answer, reason] of [
      [{ revocation: json(503, {}) }, 'the answer has status 503'],
      [{ discovery: json(404, {}) }, 'the issuer cannot be used: the answer has status 404'],
    ] as const) {
      await machine.logIn(options);
      provider.misbehave({ answer });
      expect(await machine.run(['logout', ...options])).to.deep.equal({
        code: 1,
        stdout: '',
        stderr: `forgotten here, but not ended at ${provider.issuer}: ${reason}\n`,
      });
      expect(await machine.kept()).to.deep.equal([]);
      provider.misbehave();
    }
  });

  it('is obeyed by a renewal that was under way', async () => {
    provider.tokenSeconds = 9;
    await machine.logIn(options);
    provider.tokenSeconds = 900;
    let goOn: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      provider.misbehave({
        answer: {
          token: (response) => {
            goOn = () =>
              json(200, { access_token: 'a', token_type: 'Bearer', id_token: provider.idToken() })(response, provider.requests[0] as never);
            resolve();
          },
        },
      });
    });
    const renewal = machine.token(options, { interactive: false });
    await asked;
    const logout = machine.run(['logout', ...options]);
    goOn();

    expect((await renewal).code).to.equal(0);
    expect((await logout).code).to.equal(0);
    expect(await machine.kept()).to.deep.equal([]);
  });

  it('ends at a signal', async () => {
    provider.misbehave({ answer: { revocation: never } });
    const running = machine.start(['logout', ...options]);
    while (provider.hits('revocation') === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    running.signal('SIGINT');

    expect((await running.finished).code).to.equal(130);
    expect(await machine.kept()).to.deep.equal([]);
  });
});
