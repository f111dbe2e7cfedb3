/** Plugins in the console: the sample of the demo, the template as a developer copies it, and malicious plugins. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { loggedIn } from './demo.ts';
import { consolePlugins as cluster, configMaps as namespaced, pluginsOf, sha } from './plugins.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);

describe('plugins in the console', () => {
  const { browser, demo, visitor, page } = loggedIn('admin', '/', { users: 5 });

  const menu = () => page.getByRole('navigation', { name: 'Pages' });
  const row = (name: string) => page.getByRole('row').filter({ hasText: name });
  const { kubernetes, make, listed, isListed } = pluginsOf(demo);

  describe('the plugin of the demo', () => {
    it('adds a page, a menu entry, a section on each user and a bulk action', async () => {
      await menu().getByRole('link', { name: 'Cost report' }).click();
      await page.getByText('In all').waitFor();
      expect(await page.getByRole('cell', { name: 'Developers' }).count()).to.equal(1);
      expect(await barriers(page)).to.deep.equal([]);
      await page.reload();
      await page.getByText('In all').waitFor();

      await page.goto(`${demo.url}/users?q=jane`);
      await page.getByLabel('Select Jane Doe').check();
      await page.getByRole('button', { name: 'What they cost' }).click();
      await page.getByText('One person costs €29 a month.').waitFor();
      await page.getByRole('link', { name: 'Jane Doe' }).click();
      await page.getByRole('link', { name: 'Costs' }).click();
      await page.getByText('A member of 2 groups: €58 a month.').waitFor();
      expect(await barriers(page)).to.deep.equal([]);
      await page.goto(`${demo.url}/groups/dev`);
      await page.getByRole('link', { name: 'Costs' }).click();
      await page.getByText('In all €').waitFor();
      expect(await barriers(page)).to.deep.equal([]);
    });

    it('is shown in the language of the console', async () => {
      await page.goto(`${demo.url}/x/cost-report`);
      await page.getByRole('button', { name: 'Language' }).click();
      await page.getByRole('menuitemradio', { name: 'Deutsch' }).click();
      await page.getByRole('heading', { name: 'Kostenbericht' }).waitFor();
      await page.getByRole('button', { name: 'Sprache' }).click();
      await page.getByRole('menuitemradio', { name: 'English' }).click();
      await menu().getByRole('link', { name: 'Cost report' }).waitFor();
    });

    it('hides its entry from users without its rights', async () => {
      const other = new Visitor(await browser.newContext());
      const tab = await other.openTab();
      await demo.logIn(tab, 'nobody', '/extensions');
      await tab.getByRole('row').filter({ hasText: 'cost-report' }).getByRole('cell', { name: 'Running', exact: true }).waitFor();

      expect(await tab.getByRole('link', { name: 'Cost report' }).count()).to.equal(0);
      expect(other.complaints).to.deep.equal([]);
      await other.leave();
    });

    it('is not started with ?plugins=off', async () => {
      await page.goto(`${demo.url}/extensions?plugins=off`);
      await page.getByText('This page was opened without plugins.').waitFor();

      await row('cost-report').getByRole('cell', { name: 'Not running' }).waitFor();
      expect(await page.getByRole('cell', { name: 'Running', exact: true }).count()).to.equal(0);
      expect(await menu().getByRole('link', { name: 'Cost report' }).count()).to.equal(0);
    });
  });

  it('add a section to each object of a kind, and get the object', async () => {
    const mount = "mount(host, { ref }) { host.textContent = ['Of', ref.resource, ref.namespace, ref.name].join(' '); }";
    const tab = `c.tab({ group: '', resource: 'configmaps', label: 'Weight', ${mount} });`;
    await make({ name: 'weights', code: `export const plugin = { activate(c) { ${tab} } };` });
    await isListed('weights');
    await page.goto(`${demo.url}/r/core/v1/configmaps/ns/atrium-system/console-logo`);
    await page.getByRole('link', { name: 'Weight' }).click();
    await page.getByText('Of configmaps atrium-system console-logo').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await page.reload();
    await page.getByText('Of configmaps atrium-system console-logo').waitFor();
    expect(await page.getByRole('link', { name: 'Weight' }).getAttribute('aria-current')).to.equal('page');
    await page.goto(`${demo.url}/r/core/v1/namespaces/default`);
    await page.getByRole('link', { name: 'YAML' }).waitFor();
    await menu().getByRole('link', { name: 'Cost report' }).waitFor();

    expect(await page.getByRole('link', { name: 'Weight' }).count()).to.equal(0);
  });

  describe('with actions', () => {
    const pods = "{ group: '', resource: 'pods', rights: [{ verb: 'delete', resource: 'pods' }]";
    const say = "async run(objects) { c.notify('ok', objects.map((one) => one.namespace + '/' + one.name).sort().join(' ')); }";

    before(async () => {
      const groups = "{ group: 'auth.platform.io', resource: 'groups', rights: [], label: 'Count'";
      const run = "async run([one]) { c.notify('ok', 'Counted ' + one.name); }";
      const code = `export const plugin = { activate(c) { c.action(${pods}, label: 'Point at', ${say} }); c.action(${groups}, ${run} }); } };`;
      await make({ name: 'pointer', code });
      await isListed('pointer');
    });
    it('are offered for an object of a kind, and for all that are selected', async () => {
      await page.goto(`${demo.url}/r/core/v1/pods/ns/shop`);
      const boxes = page.getByRole('checkbox', { name: /^Select .+-/ });
      await boxes.first().waitFor();
      await boxes.nth(0).check();
      await boxes.nth(1).check();
      await page.getByRole('button', { name: 'Point at' }).click();
      await page.getByText(/^shop\/\S+ shop\/\S+$/).waitFor();
      expect(await barriers(page)).to.deep.equal([]);
      await page.getByRole('row').nth(1).getByRole('link').first().click();
      await page.getByRole('link', { name: 'YAML' }).waitFor();
      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name: 'Point at' }).click();
      await page.getByText(/^shop\/\S+$/).waitFor();
    });

    it('are offered on a page of the console', async () => {
      await page.goto(`${demo.url}/groups/dev`);
      await page.getByRole('button', { name: 'Count' }).click();
      await page.getByText('Counted dev').waitFor();
    });

    it('name the missing right to users without it', async () => {
      const other = new Visitor(await browser.newContext());
      const tab = await other.openTab();
      await demo.logIn(tab, 'viewer', '/r/core/v1/pods/ns/shop');
      await tab.getByRole('row').nth(1).getByRole('link').first().click();
      await tab.getByRole('link', { name: 'YAML' }).waitFor();
      await tab.getByRole('button', { name: 'More' }).click();
      await tab.getByRole('menuitem', { name: 'Point at', exact: true }).click({ force: true });
      await tab
        .getByText(/delete pods.* -n shop/)
        .first()
        .waitFor();
      expect(other.complaints).to.deep.equal([]);
      await other.leave();
    });
  });

  it('are reported where a contribution is never shown', async () => {
    const refused = {
      'no-place': ["c.menu({ label: 'Tool', path: '', under: 'tools' })", 'menu("Tool"): under must be one of'],
      'no-kind': ["c.action({ group: '', resource: 'Pod', label: 'Act', rights: [], async run() {} })", 'the resource "Pod" is none'],
      'no-version': ["c.tab({ group: 'apps/v1', resource: 'deployments', label: 'Part', mount() {} })", 'the group "apps/v1" is none'],
      'no-rights': ["c.action({ group: '', resource: 'pods', label: 'Act', async run() {} })", 'action("Act"): rights must be a list'],
      'no-mount': ["c.page('', { title: 'Page' })", 'page(""): mount must be a function'],
    } as const;
    const unseen =
      "c.tab({ group: 'apps', resource: 'pods', label: 'Part', mount() {} }); c.menu({ label: 'Lost', path: 'lost', under: 'plugins' });";
    for (const [name, [code]] of Object.entries(refused)) await make({ name, code: `export const plugin = { activate(c) { ${code}; } };` });
    await make({ name: 'unseen', code: `export const plugin = { activate(c) { ${unseen} } };` });
    await isListed('unseen');
    await page.goto(`${demo.url}/extensions`);
    for (const [name, [, message]] of Object.entries(refused)) {
      await row(name).getByText('Failed').waitFor();
      expect(await row(name).textContent(), name).to.contain(message);
    }
    const parts = 'tab("Part"): the cluster has no resource pods.apps; menu("Lost"): no page at /x/unseen/lost';
    await row('unseen').getByText(`These parts are never shown: ${parts}`).waitFor();

    for (const name of [...Object.keys(refused), 'unseen'])
      for (const path of [`${cluster}/${name}`, `${namespaced}/${name}-console`]) await kubernetes('DELETE', path);
  });

  it('include the template as it is copied, renamed and built', async () => {
    const copy = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    try {
      await cp(join(root, 'web/template'), copy, { recursive: true, filter: (path) => !path.endsWith('/dist') });
      await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
      const manifest = JSON.parse(await readFile(join(copy, 'plugin-manifest.json'), 'utf8')) as object;
      const renamed = { ...manifest, name: 'seats', displayName: 'Seats' };
      await writeFile(join(copy, 'plugin-manifest.json'), JSON.stringify(renamed));
      await writeFile(join(copy, 'public/locales/en.json'), JSON.stringify({ title: 'Seats of groups', total: 'Seats: {{sum}}' }));
      const path = `${join(root, 'node_modules/.bin')}:${process.env.PATH}`;
      await run('npm', ['run', 'build'], { cwd: copy, env: { ...process.env, PATH: path } });
      const { stdout } = await run(process.execPath, [join(copy, 'configmap.js')]);
      const { items } = JSON.parse(stdout) as { items: { kind: string }[] };
      for (const object of items) await kubernetes('POST', object.kind === 'ConfigMap' ? namespaced : cluster, object);
      await isListed('seats');
      await page.goto(`${demo.url}/`);
      await menu().getByRole('link', { name: 'Seats of groups' }).click();
      await page.getByText('Seats: €').waitFor();
    } finally {
      await rm(copy, { recursive: true });
    }
  });

  describe('that are malicious', () => {
    const marks = "globalThis.ran = [...(globalThis.ran ?? []), 'NAME'];";

    before(async () => {
      visitor.accepted = /integrity|hash|Failed to find a valid digest|TrustedHTML|plugin-manifest\.json/;
      const quiet = (name: string) => `${marks.replace('NAME', name)} export const plugin = { activate() {} };`;
      await make({ name: 'throws', code: `${marks.replace('NAME', 'throws')} throw new Error('at once');` });
      await make({ name: 'rejects', code: "export const plugin = { async activate() { throw new Error('in activate'); } };" });
      await make({ name: 'no-plugin', code: 'export const other = 1;' });
      await make({ name: 'other-digest', code: quiet('other-digest'), manifest: { integrity: { 'entry.js': sha('other') } } });
      await make({ name: 'other-manifest', code: quiet('other-manifest'), pinned: sha('other') });
      await make({ name: 'no-digest', code: quiet('no-digest'), manifest: { integrity: {} } });
      await make({ name: 'contract-two', code: quiet('contract-two'), manifest: { contract: 2 } });
      await make({ name: 'foreign', code: quiet('foreign'), manifest: { entry: 'https://elsewhere.example.com/entry.js' } });
      await make({ name: 'unlisted', code: quiet('unlisted'), isEnabled: false });
      await make({
        name: 'hostile',
        code: `export const plugin = { activate(console) {
          console.page('html', { title: 'html', mount(host) { host.innerHTML = '<img src=x onerror=alert(1)>'; } });
          console.page('sync', { title: 'sync', mount() { throw new Error('thrown in mount'); } });
          console.page('async', { title: 'async', async mount(host) { await null; throw new Error('rejected in mount'); } });
          console.page('leave', { title: 'leave', mount() { return () => { throw new Error('thrown at the end'); }; } });
          console.page('fetch', { title: 'fetch', async mount() { await console.api.fetch('https://elsewhere.example.com/'); } });
          console.menu({ label: 'html', path: 'html', under: 'plugins' });
          console.action({ group: 'auth.platform.io', resource: 'users', label: 'break', rights: [], async run() { throw new Error('thrown in run'); } });
          try { console.page('../users', { title: 'x', mount() {} }); } catch { globalThis.ran = [...(globalThis.ran ?? []), 'refused path']; }
        } };`,
      });
      await isListed('hostile');
      await page.goto(`${demo.url}/extensions`);
      await row('hostile').getByText('Running').waitFor();
    });

    it('are each reported, and run no foreign code', async () => {
      const states = ['throws', 'rejects', 'no-plugin', 'other-digest', 'other-manifest', 'no-digest', 'contract-two', 'foreign'];
      const words = await Promise.all(
        states.map((name) =>
          row(name)
            .getByText(/^(Failed|Refused)$/)
            .textContent(),
        ),
      );

      expect(words).to.deep.equal(['Failed', 'Failed', 'Failed', 'Refused', 'Failed', 'Refused', 'Refused', 'Refused']);
      expect(await row('other-digest').textContent()).to.contain('entry.js is not the one of sha256-');
      expect(await row('other-manifest').textContent()).to.contain('plugin-manifest.json is not the one of sha256-');
      expect(await page.evaluate('globalThis.ran')).to.have.members(['throws', 'refused path']);
      expect(await row('contract-two').textContent()).to.contain('The plugin needs contract 2');
      expect(await page.locator('.chip').allTextContents()).to.deep.equal(['unlisted']);
      expect(await barriers(page)).to.deep.equal([]);
    });

    for (const [path, message] of [
      ['html', 'TrustedHTML'],
      ['sync', 'thrown in mount'],
      ['async', 'rejected in mount'],
      ['fetch', 'is no path of this service'],
    ] as const)
      it(`fail only in their own section: ${path}`, async () => {
        await page.goto(`${demo.url}/x/hostile/${path}`);
        await page.getByRole('alert').getByText(message).waitFor();

        expect(await barriers(page)).to.deep.equal([]);
        await page.getByRole('button', { name: 'Try again' }).click();
        await page.getByRole('alert').getByText(message).waitFor();
      });

    it('do not break pages and actions of the console', async () => {
      await page.goto(`${demo.url}/x/hostile/leave`);
      await page.getByRole('heading', { name: 'leave' }).waitFor();
      await menu().getByRole('link', { name: 'Users', exact: true }).click();
      await page.getByLabel('Select Jane Doe').check();
      await page.getByRole('button', { name: 'break' }).click();
      await page.getByText('hostile: thrown in run').waitFor();
      for (const [name, text] of [
        ['Groups', 'local:dev'],
        ['Bindings', 'Active'],
        ['Cost report', 'In all'],
        ['Overview', 'Your identity'],
      ] as const) {
        await menu().getByRole('link', { name, exact: true }).click();
        await page.getByText(text).filter({ visible: true }).first().waitFor();
      }
    });

    it('are disabled by users with the right', async () => {
      await page.goto(`${demo.url}/x/hostile/sync`);
      await page.getByRole('button', { name: 'Switch off' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Switch off hostile' }).click();
      await page.getByText('There is no page at this address').waitFor();
      const { spec } = (await (await kubernetes('GET', `${cluster}/hostile`)).json()) as { spec: { enabled: boolean } };

      expect(spec.enabled).to.equal(false);
    });
  });

  it('announce a new version, and change to it after "Reload"', async () => {
    await page.goto(`${demo.url}/x/seats`);
    await page.getByText('Seats: €').waitFor();
    await page.clock.install();
    await kubernetes('PATCH', `${cluster}/seats`, { spec: { enabled: false } });
    // The page checks once, and the replica learns of the change by its watch.
    await eventually(listed, (plugins) => plugins.every(({ name }) => name !== 'seats'));
    await page.clock.fastForward(120_000);
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await page.getByRole('button', { name: 'Reload' }).waitFor();
  });
});
