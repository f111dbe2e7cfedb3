import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { stringify } from 'yaml';
import { eventually } from '../../support/cluster-admin.ts';
import { Command, run } from '../../support/command.ts';
import { freePort } from '../../support/free-port.ts';

describe('the messages of a start', () => {
  let directory: string;
  let server: string;
  let issuer: string;
  let configuration: string;
  let environment: Record<string, string>;
  let service: Command | undefined;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    server = `https://127.0.0.1:${await freePort()}`;
    issuer = `http://127.0.0.1:${await freePort()}/realms/corp`;
    const kubeconfig = join(directory, 'kubeconfig.yaml');
    const content = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server } }],
      users: [{ name: 'test', user: { token: 'x' } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
      'current-context': 'test',
    };
    await writeFile(kubeconfig, stringify(content), { mode: 0o600 });
    configuration = join(directory, 'config.yaml');
    environment = { KUBECONFIG: kubeconfig };
  });
  after(async () => {
    await service?.end();
    await rm(directory, { recursive: true });
  });

  const configure = async (publicURL: object) => {
    const listener = { host: '127.0.0.1', port: await freePort(), metricsPort: await freePort(), ...publicURL };
    const login = { issuer, clientID: 'atrium', redirectURLs: ['http://127.0.0.1/callback'] };
    await writeFile(configuration, stringify({ server: listener, ...('publicURL' in publicURL && { login }) }));
    return `http://127.0.0.1:${listener.metricsPort}`;
  };
  const linesOf = ({ stdout }: Command) =>
    stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('are one line with address and reason for each thing that cannot be reached', async () => {
    const url = await configure({ publicURL: 'http://127.0.0.1:1' });
    service = new Command(['serve', '--config', configuration], environment);
    const lines = await eventually(
      () => linesOf(service as Command),
      (found) => found.filter(({ msg }) => String(msg).includes('unreachable')).length >= 2,
    );
    // Every watch has failed by then.
    const verbose = await eventually(
      async () => (await fetch(`${url}/readyz?verbose`)).text(),
      (text) => text.includes('identity-provider') && text.includes('ECONNREFUSED'),
    );
    expect(verbose).to.match(/kubernetes.*ECONNREFUSED/);
    expect(lines.filter(({ level }) => level === 'warn')).to.have.lengthOf(2);
    expect(
      linesOf(service)
        .filter(({ level }) => level === 'warn')
        .map(({ time: _time, ...line }) => line),
    ).to.have.deep.members([
      { level: 'warn', server, reason: 'ECONNREFUSED', msg: 'API server unreachable' },
      { level: 'warn', issuer, reason: 'ECONNREFUSED', msg: 'issuer unreachable' },
    ]);
    expect(service.stdout).not.to.include('"stack"');
    await service.end();
  });

  it('refuse a missing server.publicURL before anything listens, and so does config check', async () => {
    const url = await configure({});
    for (const args of [['serve'], ['config', 'check']]) {
      const { code, stdout, stderr } = await run([...args, '--config', configuration], environment);
      expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
      expect(stderr).to.match(/^the configuration is not valid:\n {2}server\.publicURL: is required: the address under which browsers/);
    }
    expect(await fetch(url).catch(() => 'refused')).to.equal('refused');
  });

  it('are also reported by config check --connect', async () => {
    await configure({ publicURL: 'http://127.0.0.1:1' });
    const { code, stderr } = await run(['config', 'check', '--connect', '--config', configuration], environment);
    expect([code, stderr]).to.deep.equal([
      2,
      `the configuration is not valid:
  kubernetes: the API server at ${server} cannot be reached (ECONNREFUSED)
  login.issuer: the issuer ${issuer} cannot be reached (ECONNREFUSED)
`,
    ]);
    expect((await run(['config', 'check', '--config', configuration], environment)).code).to.equal(0);
  });
});
