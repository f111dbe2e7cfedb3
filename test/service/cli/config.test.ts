import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { loopbackCertificates } from '../../cluster/certificates.ts';
import { run } from '../../support/command.ts';

describe('atrium config, atrium serve', () => {
  let directory: string;
  const file = async (text: string) => {
    const path = join(directory, 'config.yaml');
    await writeFile(path, text);
    return path;
  };
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
  });
  after(() => rm(directory, { recursive: true }));

  it('checks a configuration without starting anything', async () => {
    const { code, stdout } = await run(['config', 'check', '--config', await file('server: { port: 1, publicURL: "https://a.example" }')]);

    expect([code, stdout]).to.deep.equal([0, 'the configuration is valid\n']);
  });

  it('names the static files whose paths are the service’s own', async () => {
    const build = join(directory, 'build');
    await mkdir(join(build, 'docs'), { recursive: true });
    for (const name of ['index.html', 'version', 'docs/index.html']) await writeFile(join(build, name), name);
    const settings = stringify({ server: { publicURL: 'https://console.example.com' }, console: { static: { directory: build } } });
    const { code, stdout, stderr } = await run(['config', 'check', '--config', await file(settings)]);

    expect([code, stdout]).to.deep.equal([0, 'the configuration is valid\n']);
    expect(stderr).to.equal(
      ['docs/index.html', 'version']
        .map((name) => `warning: console.static.directory: ${name} is not served: its path is the service's own\n`)
        .join(''),
    );
  });

  it('opens every file that it is given, and says what each of them should be', async () => {
    const { serving, authority } = await loopbackCertificates();
    const at = (name: string) => join(directory, name);
    for (const [name, text] of Object.entries({
      'secret.txt': ' \n',
      'ca.crt': authority.certificate,
      'serving.crt': serving.certificate,
      'serving.key': serving.key,
      'authority.key': authority.key,
      'no.crt': 'certificate',
    }))
      await writeFile(at(name), text);
    await mkdir(at('empty'));
    const connector = { id: 'corp', name: 'Corp', url: 'ldaps://ldap.example.com', baseDN: 'dc=example', bindDN: 'cn=x' };
    const tls = (key: string) => ({ certFile: at('serving.crt'), keyFile: at(key) });
    const check = async (settings: object) => {
      const { code, stdout, stderr } = await run(['config', 'check', '--config', await file(stringify(settings))]);
      return [code, stdout + stderr.replaceAll(directory, '')];
    };

    const good = {
      login: { caFile: at('ca.crt') },
      server: { publicURL: 'https://console.example.com', tls: tls('serving.key') },
      console: { static: { directory: 'web/dist' } },
    };
    expect(await check(good)).to.deep.equal([0, 'the configuration is valid\n']);
    const bad = {
      login: { clientSecretFile: at('secret.txt'), caFile: at('no.crt') },
      server: { publicURL: 'https://console.example.com', tls: tls('no.crt') },
      identity: { clients: [{ id: 'cli', secretFile: at('absent') }] },
      users: { ldap: [{ ...connector, caFile: directory, bindPasswordFile: at('absent') }] },
      kubernetes: { kubeconfig: at('absent') },
      console: { static: { directory: at('empty') } },
    };
    expect(await check(bad)).to.deep.equal([
      2,
      `the configuration is not valid:
  server.tls.keyFile: /no.crt: holds no private key in PEM
  kubernetes.kubeconfig: /absent: cannot be read (ENOENT)
  console.static.directory: /empty: index.html in it cannot be read (ENOENT)
  login.clientSecretFile: /secret.txt: the file is empty
  login.caFile: /no.crt: holds no certificate in PEM
  identity.clients[0].secretFile: /absent: cannot be read (ENOENT)
  users.ldap[0].caFile: : cannot be read (EISDIR)
  users.ldap[0].bindPasswordFile: /absent: cannot be read (ENOENT)
`,
    ]);
    expect(await check({ server: { publicURL: 'https://console.example.com', tls: tls('authority.key') } })).to.deep.equal([
      2,
      'the configuration is not valid:\n  server.tls.keyFile: /authority.key: is not the key of the first certificate in /serving.crt\n',
    ]);
  });

  it('reports every problem and exits with 2; serve does the same and never listens', async () => {
    const probe = createServer();
    const port = await new Promise<number>((resolve) =>
      probe.listen(0, '127.0.0.1', () => resolve((probe.address() as { port: number }).port)),
    );
    probe.close();
    const path = await file(`server: { host: 127.0.0.1, port: ${port}, bodyLimit: lots, prot: 1 }`);

    for (const args of [['config', 'check'], ['serve']]) {
      const { code, stderr } = await run([...args, '--config', path]);
      expect(code, args.join(' ')).to.equal(2);
      expect(stderr).to.contain('server.bodyLimit: must be a size').and.to.contain('server.prot: is not a setting');
      expect(stderr).not.to.contain('    at ');
    }
  });

  it('exits with 2 for a file that is not there, and without a cluster', async () => {
    expect(await run(['serve', '--config', join(directory, 'absent.yaml')])).to.include({ code: 2 });
    const { code, stderr } = await run(['serve'], { ATRIUM_SERVER__PUBLICURL: 'https://console.example.com' });
    expect(code).to.equal(2);
    expect(stderr).to.contain('kubernetes.kubeconfig: name a kubeconfig file');
  });

  it('reports the settings of the profile, and the ones that override them', async () => {
    const settings = { server: { publicURL: 'https://console.example.com' }, profile: 'team', features: { accessTokens: false } };
    const { code, stdout } = await run(['config', 'check', '--config', await file(stringify(settings))]);

    expect(code).to.equal(0);
    expect(stdout).to.equal(`the profile team sets:
  lists.preset: workloads
  features.userBindings: true
  features.accessTokens: false (set by the configuration; the profile has true)
  features.accessRequests: true
  users.certificates.enabled: false
the configuration is valid
`);
  });

  it('prints the rights of the configured features, and those of a profile before it is configured', async () => {
    const minimal = await file('profile: minimal');
    const rights = async (...options: string[]) => (await run(['config', 'rights', '--config', minimal, ...options])).stdout.split('\n');
    const now = await rights();
    const added = (await rights('--profile', 'team')).filter((line) => !now.includes(line));

    expect(now[0]).to.match(/^SETTING +WHERE +VERBS +RESOURCES$/);
    expect(now.join('\n')).to.include('impersonate:user-info').and.not.include('features.');
    expect(new Set(added.map((line) => line.split(' ', 1)[0]))).to.deep.equal(
      new Set(['features.accessTokens', 'features.userBindings', 'features.accessRequests', 'lists.preset']),
    );
    expect(added.join('\n')).to.match(/features\.userBindings +cluster +create patch delete +rolebindings, clusterrolebindings/);
  });

  it('prints the rights to listed resources once', async () => {
    const resources = [
      { version: 'v1', resource: 'pods' },
      { group: 'example.com', version: 'v1', resource: 'widgets' },
    ];
    const { stdout } = await run(['config', 'rights', '--config', await file(stringify({ profile: 'team', lists: { resources } }))]);

    expect(stdout).to.match(/lists\.resources +cluster +list watch +widgets \(example\.com\)/);
    expect(stdout.match(/\bpods\b/g)).to.have.length(1);
  });

  it('prints the effective configuration, variables and defaults included', async () => {
    const { code, stdout } = await run(['config', 'print', '--config', await file('server: { port: 1 }')], {
      ATRIUM_SERVER__HOST: '127.0.0.1',
    });

    expect(code).to.equal(0);
    expect(parse(stdout)).to.nested.include({ 'server.port': 1, 'server.host': '127.0.0.1', 'server.shutdownGrace': '25s' });
  });

  it('prints the OpenAPI document', async () => {
    const { code, stdout } = await run(['openapi']);

    expect(code).to.equal(0);
    expect(JSON.parse(stdout)).to.have.nested.property('paths./auth/v2/users.get.operationId', 'ListUsers');
  });
});
