import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { aBinding } from '../../service/bindings/support.ts';
import { apiServer } from '../../support/api-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { install } from '../../support/installed-cluster.ts';
import { kubectl } from '../../support/kubectl.ts';

describe('kubectl, with UserBindings', () => {
  const cluster = forSuite(() => apiServer({ isReused: true }));
  const kubernetes = forSuite(
    () => install(cluster),
    (admin) => admin.close(),
  );
  let directory: string;

  before(async () => {
    await kubernetes.apply(
      { ...aBinding('wide'), status: { phase: 'Synced' } },
      aBinding('narrow', {
        subjects: [{ kind: 'Group', name: 'dev' }],
        roleRef: 'edit',
        scope: 'namespace',
        constraint: [{ namespace: 'shop' }],
      }),
    );
    directory = await mkdtemp(join(tmpdir(), 'atrium-kubectl-'));
    await writeFile(join(directory, 'ca.crt'), cluster.certificateAuthority);
  });
  after(async () => {
    await rm(directory, { recursive: true });
  });

  const output = async (...args: string[]) => {
    const ran = await kubectl({ url: cluster.url, caFile: join(directory, 'ca.crt'), token: await cluster.token('admin') }, ...args);
    expect(ran.isDone, ran.stderr).to.equal(true);
    return ran.stdout;
  };

  it('shows subjects, scope, role and phase by get userbindings', async () => {
    const [head = '', ...lines] = (await output('get', 'userbindings')).trimEnd().split('\n');

    expect(head.trimEnd().split(/ {2,}/)).to.deep.equal(['NAME', 'KIND', 'NAME', 'SCOPE', 'ROLE', 'PHASE', 'EXPIRES', 'AGE']);
    expect(lines.find((line) => line.startsWith('wide'))).to.match(/^wide +User +jane +platform +view +Synced +[\dms]+$/);
    expect(lines.find((line) => line.startsWith('narrow'))).to.match(/^narrow +Group +dev +namespace +edit +[\dms]+$/);
  });

  it('selects them by role, scope and phase', async () => {
    const names = async (selector: string) =>
      (await output('get', 'userbindings', '--output=name', `--field-selector=${selector}`)).trimEnd();
    expect(await names('spec.roleRef=edit,spec.scope=namespace')).to.equal('userbinding.auth.platform.io/narrow');
    expect(await names('status.phase=Synced')).to.equal('userbinding.auth.platform.io/wide');
  });
});
