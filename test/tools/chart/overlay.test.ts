import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { z } from 'zod';
import { parseConfig } from '../../../src/config/load.ts';
import { runCreateAdmin } from '../../../src/create-admin.ts';
import type { Manifest } from '../../support/cluster-admin.ts';
import { objectsOf, one } from './chart.ts';
import { RecordedAccount } from './recorded-account.ts';

const run = promisify(execFile);
const example = fileURLToPath(new URL('../../../deploy/example-overlay', import.meta.url));
const email = 'eva@example.org';

const build = async (directory: string): Promise<Manifest[]> =>
  objectsOf((await run('kubectl', ['kustomize', directory], { maxBuffer: 16 * 1024 * 1024 })).stdout);

const jobSchema = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({ serviceAccountName: z.string(), containers: z.tuple([z.object({ args: z.array(z.string()) })]) }),
    }),
  }),
});

describe('the example overlay, copied to a folder elsewhere', () => {
  let directory: string;
  let objects: Manifest[];
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-overlay-'));
    // Same copy as with `cp -RL` in docs/install.md.
    await cp(example, join(directory, 'mine'), { recursive: true, dereference: true });
    const file = join(directory, 'mine/kustomization.yaml');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('email=ada@example.com', `email=${email}`).replace('name=Administrator', 'name=Eva'));
    objects = await build(join(directory, 'mine'));
  });
  after(() => rm(directory, { recursive: true }));

  it('has all objects of deploy/manifests', async () => {
    const kinds = (all: readonly Manifest[]) => all.map(({ kind, metadata }) => `${kind} ${metadata.name.replace(/-\w{10}$/, '')}`);

    expect(kinds(objects)).to.include.members(kinds(await build(join(example, 'base'))));
  });

  it('creates the configured administrator, and names no other user', () => {
    const job = jobSchema.parse(one(objects, 'Job', 'atrium-first-admin')).spec.template.spec;
    const { args } = job.containers[0];

    expect(args[args.indexOf('--email') + 1]).to.equal(email);
    expect(args[args.indexOf('--name') + 1]).to.equal('Eva');
    expect(one(objects, 'ClusterRoleBinding', 'atrium-first-admin-atrium-users-admin').subjects).to.have.nested.property('[0].name', email);
    expect(JSON.stringify(objects)).not.to.include('ada@example.com');
  });

  it('grants the account of the Job its calls, for any name', async () => {
    const { serviceAccountName } = jobSchema.parse(one(objects, 'Job', 'atrium-first-admin')).spec.template.spec;
    const account = await RecordedAccount.start(serviceAccountName, objects);
    try {
      const config = parseConfig({ yaml: JSON.stringify({ server: { publicURL: 'http://console.test' } }) });
      const { connection } = account;
      const options = { config, connection, email, name: 'Eva', password: undefined, secret: 'atrium-first-admin' };

      expect(await runCreateAdmin(options)).to.include('was made');
      expect(await runCreateAdmin(options)).to.include('exists already');
      expect(await account.excess()).to.deep.equal([]);
    } finally {
      await account.stop();
    }
  });
});
