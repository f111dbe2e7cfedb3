import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { never } from '../login/provider/answers.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { Machine, type Running, startAddress } from './machine.ts';
import { begin, play, visit } from './play-browser.ts';

describe('kubectl-atrium login', () => {
  const provider = forSuite(() => TestProvider.start({ clientID: 'kubectl' }));
  let machine: Machine;
  let options: string[];

  before(async () => {
    options = ['--issuer', provider.issuer, '--no-browser'];
  });
  beforeEach(async () => {
    machine = await Machine.create();
    provider.misbehave();
    provider.forgetRequests();
  });
  afterEach(() => machine.remove());

  const logIn = (...further: string[]): Running => machine.start(['login', ...options, ...further]);
  /** Ends a login, whatever its output. */
  const given = async (running: Running) => {
    running.signal('SIGINT');
    await running.finished;
  };

  it('logs in by a code with PKCE, state and nonce, and names the user', async () => {
    const running = logIn('--scopes', 'openid email', '--login-hint', 'jane');
    const { status, headers, body } = await play(await startAddress(running));

    expect(await running.finished).to.deep.include({ code: 0, stdout: '' });
    expect(running.output.stderr).to.match(/^To log in, open http:\/\/127\.0\.0\.1:\d+\/\S+\nLogged in as jane@example\.com\.\n$/);
    const asked = Object.fromEntries(provider.requests.find(({ endpoint }) => endpoint === 'authorize')?.parameters ?? []);
    expect(asked).to.include({ client_id: 'kubectl', response_type: 'code', scope: 'email openid', code_challenge_method: 'S256' });
    expect(asked).to.include({ login_hint: 'jane' });
    for (const name of ['code_challenge', 'state', 'nonce'] as const) expect(asked[name]).to.match(/^[\w-]{43}$/);
    expect(asked.redirect_uri).to.match(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect(status).to.equal(200);
    expect(headers.get('content-security-policy')).to.match(/^default-src 'none'; frame-ancestors 'none'/);
    expect(Object.fromEntries(headers)).to.include({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    expect(body).to.contain('You are logged in.').and.not.contain('<script');
    const { tokens } = await machine.entry();
    for (const secret of [tokens.idToken, asked.state ?? '', asked.nonce ?? ''])
      expect(body + running.output.stderr).not.to.contain(secret);
  });

  it('shows no part of the flow in the arguments of processes', async () => {
    const running = logIn();
    const address = await startAddress(running);

    expect(new URL(address).search).to.equal('');
    expect(new URL(address).pathname).to.match(/^\/[\w-]{22}$/);
    await given(running);
  });

  it('belongs to the first browser that opens the address', async () => {
    const running = logIn();
    const address = await startAddress(running);
    const first = await begin(address);
    const thief = await visit(address);
    expect(thief.status).to.equal(404);
    expect(thief.headers.get('set-cookie')).to.equal(null);
    expect((await visit(address, { cookie: first.cookie })).status).to.equal(302);

    expect((await visit(first.back, { cookie: first.cookie })).status).to.equal(200);
    expect((await running.finished).code).to.equal(0);
  });

  it('takes a callback from that browser alone, with its state, once', async () => {
    const running = logIn();
    const { back, cookie } = await begin(await startAddress(running));
    const changed = (parameters: Record<string, string>) => {
      const url = new URL(back);
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url;
    };
    const refused = [
      await visit(back),
      await visit(back, { cookie: `${cookie}x` }),
      await visit(changed({ state: 'x'.repeat(43) }), { cookie }),
      await visit(changed({ state: '' }), { cookie }),
      await visit(new URL('/', back), { cookie }),
      await visit(new URL('/callback/', back), { cookie }),
      await visit(new URL('/favicon.ico', back), { cookie }),
    ];
    expect(refused.map(({ status }) => status)).to.deep.equal(refused.map(() => 404));
    expect((await fetch(back, { method: 'POST', headers: { cookie } })).status).to.equal(404);
    expect((await fetch(back, { method: 'HEAD', headers: { cookie } })).status).to.equal(404);
    expect(await statusWithHost(back, 'rebound.example', cookie)).to.equal(404);
    expect(provider.hits('token')).to.equal(0);

    const [one, other] = await Promise.all([visit(back, { cookie }), visit(back, { cookie })]);
    expect([one.status, other.status].sort()).to.deep.equal([200, 404]);
    expect((await running.finished).code).to.equal(0);
    expect(provider.hits('token')).to.equal(1);
  });

  it('says what the issuer says', async () => {
    provider.misbehave({ response: { code: undefined, error: 'access_denied', error_description: 'not today\u001b[31m' } as never });
    const running = logIn();
    const { status, body } = await play(await startAddress(running));

    expect({ status, body }).to.deep.include({ status: 400 });
    expect(body).to.contain('The login failed.').and.not.contain('not today');
    const { code, stderr } = await running.finished;
    expect(code).to.equal(1);
    expect(stderr).to.match(/\nthe login failed: not today \[31m \(access_denied\)\n$/);
    expect(await machine.kept()).to.deep.equal([]);
  });

  for (const [what, misbehaviour] of Object.entries({
    'another nonce': { idToken: { claims: { nonce: 'other' } } },
    'no nonce': { idToken: { claims: { nonce: undefined } } },
    'another audience': { idToken: { claims: { aud: 'other' } } },
    'another issuer': { idToken: { claims: { iss: 'https://other.example' } } },
    'a foreign signature': { idToken: { signer: 'unpublished RS256' } },
    'no signature': { idToken: { signer: 'nobody' } },
    'an end that is over': { idToken: { claims: { exp: 1 } } },
  } as const))
    it(`refuses an ID token with ${what}`, async () => {
      provider.misbehave(misbehaviour);
      const running = logIn();
      const { status } = await play(await startAddress(running));

      expect(status).to.equal(400);
      const { code, stdout, stderr } = await running.finished;
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
      expect(stderr).to.match(/\nthe login failed: the connection failed with OAUTH_\w+\n$/);
      expect(await machine.kept()).to.deep.equal([]);
    });

  it('ends after the given time, and at a signal', async () => {
    const late = logIn('--timeout', '1');
    // On a slow machine, the time ends before it has an address to print.
    expect((await late.finished).stderr).to.match(/^there was no login within 1 seconds\n$/m);
    const interrupted = logIn();
    await startAddress(interrupted);
    interrupted.signal('SIGINT');
    expect((await interrupted.finished).code).to.equal(130);
    provider.misbehave({ answer: { token: never } });
    const hanging = logIn('--timeout', '2');
    const answer = startAddress(hanging)
      .then(play)
      .catch(() => undefined);
    expect((await hanging.finished).code).to.equal(1);
    await answer;
    expect(await machine.kept()).to.deep.equal([]);
  });

  it('listens on a port that was asked for, or says that it is taken', async () => {
    const port = String(await freePort());
    const first = logIn('--listen-port', port);
    expect(new URL(await startAddress(first)).port).to.equal(port);
    const taken = await machine.run(['login', ...options, '--client-id=other', '--listen-port', port]);
    expect(taken.stderr).to.equal(`the login failed: cannot listen on 127.0.0.1: ${port} is taken\n`);
    await given(first);

    const second = logIn('--listen-port', port);
    expect(new URL(await startAddress(second)).port).to.equal(port);
    await given(second);
  });

  it('authenticates a client that has a secret', async () => {
    const confidential = await TestProvider.start({ clientID: 'cli', clientSecret: 'canary-secret' });
    const secretFile = await machine.file('secret', 'canary-secret\n');
    const running = machine.start([
      'login',
      '--no-browser',
      '--issuer',
      confidential.issuer,
      '--client-id=cli',
      '--client-secret-file',
      secretFile,
    ]);
    await play(await startAddress(running));

    expect(await running.finished).to.include({ code: 0 });
    expect(JSON.stringify(await machine.entry())).not.to.contain('canary-secret');
    await confidential.stop();
  });

  it('sends a secret of unreserved characters as it is, or in the body where that is asked for', async () => {
    const confidential = await TestProvider.start({ clientID: 'cli', clientSecret: 'a-canary.secret_of~mine' });
    const secretFile = await machine.file('unreserved-secret', 'a-canary.secret_of~mine\n');
    const at = ['login', '--no-browser', '--issuer', confidential.issuer, '--client-id=cli', '--client-secret-file', secretFile];
    for (const [way, options] of [
      ['plain', []],
      ['body', ['--client-authentication=post']],
    ] as const) {
      confidential.misbehave({ clientSecret: way });
      const running = machine.start([...at, ...options]);
      await play(await startAddress(running));
      expect(await running.finished, way).to.include({ code: 0 });
    }
    await confidential.stop();
  });

  it('pushes its request to an issuer that demands that', async () => {
    const demanding = await TestProvider.start({ clientID: 'kubectl' });
    demanding.misbehave({ metadata: { require_pushed_authorization_requests: true } });
    const running = machine.start(['login', '--no-browser', '--issuer', demanding.issuer]);
    await play(await startAddress(running));
    expect(await running.finished).to.include({ code: 0 });
    expect(demanding.hits('par')).to.equal(1);
    await demanding.stop();
  });

  it('believes an issuer with an authority of its own, if it is given', async () => {
    const secure = await TestProvider.start({ clientID: 'kubectl', tls: true });
    const authority = secure.certificateAuthority ?? '';
    const at = ['login', '--no-browser', '--issuer', secure.issuer];
    const without = await machine.run(at);
    expect(without.stderr).to.match(/^the issuer cannot be used: the connection failed with (UNABLE_TO_|SELF_SIGNED_|DEPTH_)\w+\n$/);

    for (const option of [
      ['--ca-file', await machine.file('ca.crt', authority)],
      ['--ca-data', Buffer.from(authority).toString('base64')],
    ]) {
      const running = machine.start([...at, ...option]);
      await startAddress(running);
      await given(running);
    }
    expect((await machine.run([...at, '--ca-data=eA=='])).stderr).to.equal('--ca-file and --ca-data must hold a PEM certificate\n');
    await secure.stop();
  });

  it('goes through the proxy of the environment, except for hosts in NO_PROXY', async () => {
    const reached: string[] = [];
    const proxy = createServer().on('connect', ({ url = '' }, socket: Socket) => {
      reached.push(url);
      const target = connect(Number(new URL(`http://${url}`).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(target).pipe(socket);
      });
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const { port } = proxy.address() as AddressInfo;
    const { host } = new URL(provider.issuer);
    for (const [noProxy, expected] of [
      ['', [host]],
      ['127.0.0.1', []],
    ] as const) {
      const running = machine.start(['login', ...options], { HTTP_PROXY: `http://127.0.0.1:${port}`, NO_PROXY: noProxy });
      await startAddress(running);
      await given(running);
      expect(reached.splice(0)).to.deep.equal(expected);
    }
    proxy.closeAllConnections();
    proxy.close();
  });

  it('says what is wrong with its options', async () => {
    for (const [option, words] of [
      ['--timeout=0', 'must be 1 to 9999'],
      ['--listen-port=x', 'must be ports, such as 8000,18000'],
      ['--scopes=email', '--scopes must hold openid'],
      ['--ca-file=/nowhere', '--ca-file: the file cannot be read (ENOENT)'],
      ['--client-secret-file=/nowhere', '--client-secret-file: the file cannot be read (ENOENT)'],
      ['--device', 'the issuer has no login on another device'],
    ] as const) {
      const { code, stderr } = await machine.run(['login', ...options, option]);
      expect({ code, told: stderr.includes(words) }, stderr).to.deep.equal({ code: 1, told: true });
    }
  });
});

/** Sends a request with another Host header, as in a DNS rebinding attack. */
const statusWithHost = (url: URL, host: string, cookie: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { headers: { host, cookie } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
