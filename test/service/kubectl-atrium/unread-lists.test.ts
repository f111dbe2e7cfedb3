/** Lists that could not be read as a whole: they never look like complete or empty ones. */
import { readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect } from 'chai';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { listen, stopListening } from '../../support/listening.ts';
import { Trusting } from '../../support/trusting.ts';
import { Machine } from './machine.ts';

const [email, password] = ['jane@example.com', 'correct horse'];

describe('kubectl atrium with lists that are not complete', () => {
  const console = forSuite(
    async () => {
      const answer = { status: 200, body: {} as unknown };
      const server = createServer((_request, response) => {
        response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer.body));
      });
      return { answer, server, url: `http://127.0.0.1:${await listen(server)}` };
    },
    ({ server }) => stopListening(server),
  );
  const service = forSuite(() => startEmbeddedLogin({ emails: [email], password, login: { audiences: ['kubectl'] } }));
  const machine = forSuite(
    () => Machine.create(),
    (one) => one.remove(),
  );
  const dispatcher = forSuite(
    async () => new Trusting(readFileSync(service.caFile, 'utf8')),
    (agent) => agent.close(),
  );
  const options = () => ['--issuer', `${service.url}/identity`, '--ca-file', service.caFile, '--no-browser'];
  const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    machine.run([...args, ...options(), '--console', console.url], environment);
  const answer = (status: number, body: unknown) => Object.assign(console.answer, { status, body });
  let bin: string;

  async function kubectlIs(script: string): Promise<{ PATH: string }> {
    await writeFile(join(bin, 'kubectl'), `#!/bin/sh\n${script}\n`);
    await chmod(join(bin, 'kubectl'), 0o755);
    return { PATH: `${bin}:/usr/bin:/bin` };
  }

  before(async () => {
    bin = join(machine.home, 'bin');
    await mkdir(bin);
    expect(await machine.logIn(options(), { person: { email, password }, dispatcher })).to.include({ code: 0 });
  });

  it('tells a resource that kubectl does not list from a kubectl that fails', async () => {
    answer(200, { complete: true, notes: [], total: 0, items: [] });
    const ask = (environment: { PATH: string }) => run(['who-can', 'get', 'widgets'], environment);

    const listed = await ask(await kubectlIs('echo "pods po v1 true Pod"'));
    expect(listed).to.deep.include({ code: 1, stdout: '' });
    expect(listed.stderr).to.contain('the API group of widgets is unknown, as kubectl lists no such resource: write RESOURCE.GROUP');

    const partly = await kubectlIs('echo "pods po v1 true Pod"; echo "error: example.com/v1 is down" >&2; exit 1');
    expect((await ask(partly)).stderr).to.contain('as kubectl did not list all resources (error: example.com/v1 is down)');
    expect(await run(['who-can', 'get', 'pods'], partly)).to.include({ code: 0 });

    expect((await ask({ PATH: '' })).stderr).to.contain('as kubectl did not list all resources (kubectl was not found)');
  });

  it('tells that a list of subjects is not complete, for any reason', async () => {
    const item = { subject: { kind: 'User', name: 'a' }, binding: { kind: 'RoleBinding', name: 'b' }, role: { kind: 'Role', name: 'c' } };
    for (const body of [
      { complete: false, notes: ['SystemMasters', 'AReasonOfALaterRelease'], total: 0, items: [] },
      { complete: true, notes: ['SystemMasters'], total: 1, items: [] },
    ]) {
      answer(200, body);
      const { stderr } = await run(['who-can', 'get', 'pods.']);
      expect(stderr).to.equal('The list is not complete.\n');
      const { stdout } = await run(['who-can', 'get', 'pods.', '-o', 'json']);
      expect(JSON.parse(stdout)).to.include({ complete: false });
    }
    answer(200, { complete: false, notes: ['ClusterWideHidden'], total: 1, items: [item] });
    expect((await run(['who-can', 'get', 'pods.'])).stderr).to.equal('More may: you may not list clusterrolebindings.\n');
  });

  for (const args of [
    ['who-can', 'get', 'pods.'],
    ['audit'],
    ['access', 'policies'],
    ['access', 'list'],
    ['access', 'list', '--inbox'],
    ['access', 'request', 'view', '--for', '1h'],
  ])
    it(`fails, and prints no list, while the service cannot read it: ${args.join(' ')}`, async () => {
      for (const [status, body, message] of [
        [503, { message: 'the API server did not answer' }, 'the API server did not answer'],
        [200, {}, 'the service answered with no list'],
        [200, { items: null, metadata: {} }, 'the service answered with no list'],
        [404, {}, 'the service answered 404'],
      ] as const) {
        answer(status, body);
        const { code, stdout, stderr } = await run(args);
        expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
        expect(stderr).to.contain(message);
      }
    });

  it('names the service as the user of its own actions, and no user of a refused login', async () => {
    const event = {
      ...{ auditID: 'one', verb: 'update', sourceIPs: [], requestReceivedTimestamp: '2026-01-12T10:00:00.000Z' },
      objectRef: { apiGroup: 'auth.platform.io', resource: 'accessrequests', name: 'areq-1' },
    };
    answer(200, {
      metadata: {},
      scope: 'All',
      items: [
        { ...event, event: 'AccessEnded', outcome: 'success' },
        { ...event, event: 'LoginFailed', outcome: 'failure' },
      ],
    });
    const { stdout } = await run(['audit']);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {3,}/)[1]),
    ).to.deep.equal(['USER', '<unknown>', 'Atrium']);
  });
});
