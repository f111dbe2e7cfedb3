/** New objects in the console: samples, and several documents of one text. */
import { expect } from 'chai';
import { barriers } from './axe.ts';
import { addKind, tableOf } from './cluster-answers.ts';
import { chooseNamespace, kept, loggedIn, namespaceField, press } from './demo.ts';
import { countOf, hold } from './traffic.ts';

describe('the page of a new object in the console', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const editor = () => page.locator('.edit-code .cm-content');
  const results = () => page.locator('.apply-results > li');
  const map = (name: string, value: string) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: default\ndata:\n  key: ${value}\n`;
  const open = (kind: string) => page.goto(`${demo.url}/new/${kind}`);
  const write = async (text: string) => {
    await editor().waitFor();
    await editor().fill(text);
    await press(page, 'Review the changes');
  };
  const stored = async (name: string) => {
    const { token } = demo.person('admin');
    const response = await fetch(`${demo.url}/api/kubernetes/api/v1/namespaces/default/configmaps/${name}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    return response.status === 200 ? ((await response.json()) as { data?: Record<string, string> }).data : response.status;
  };

  it('begins with a sample that the cluster accepts', async () => {
    for (const kind of [
      'apps/v1/deployments/ns/default',
      'core/v1/services/ns/default',
      'core/v1/secrets/ns/default',
      'core/v1/namespaces',
    ]) {
      await open(kind);
      await editor().waitFor();
      await press(page, 'Review the changes');
      await page.getByText('The cluster has tried the text: see the new object below.').waitFor();
    }
  });

  it('indents the line after a key without a value, also in a list, and nowhere else', async () => {
    await open('core/v1/configmaps/ns/default');
    await editor().waitFor();
    for (const [before, after] of [
      ['labels:', 'labels:\n  x'],
      ['metadata:\n  labels:', 'metadata:\n  labels:\n    x'],
      ['labels: # of the shop', 'labels: # of the shop\n  x'],
      ['- env:', '- env:\n    x'],
      ['spec:\n  containers:\n  - "ports":', 'spec:\n  containers:\n  - "ports":\n      x'],
      ["data:\n  'a b':", "data:\n  'a b':\n    x"],
      ['text: |', 'text: |\n  x'],
      ['name: shop', 'name: shop\nx'],
      ['# labels:', '# labels:\nx'],
      ['text: |\n  labels:', 'text: |\n  labels:\n  x'],
      ['name: "a:', 'name: "a:\nx'],
    ] as const) {
      await editor().fill(before);
      await page.keyboard.press('Control+End');
      await page.keyboard.press('Enter');
      await page.keyboard.insertText('x');
      expect((await page.locator('.edit-code .cm-line').allTextContents()).join('\n')).to.equal(after);
    }
    visitor.takeComplaints();
  });

  it('N25 compares objects whatever the order of their keys', async () => {
    const labelled = (labels: string, value: string) => map('ordered', value).replace('  name:', `  labels: ${labels}\n  name:`);
    await open('core/v1/configmaps/ns/default');
    await write(labelled('{tier: web, app: shop}', 'before'));
    await press(page, 'Create this ConfigMap');
    await page.getByRole('heading', { name: 'ordered' }).waitFor();

    await page.goto(`${demo.url}/r/core/v1/configmaps/ns/default/ordered/yaml`);
    await press(page, 'Edit');
    await write(labelled('{app: shop, tier: web}', 'after'));
    await page.locator('.cm-changedLine').first().waitFor();
    expect(await page.locator('.cm-deletedLine').allTextContents()).to.deep.equal(['  key: before']);
    expect(await page.locator('.cm-changedLine').allTextContents()).to.deep.equal(['  key: after']);
    await press(page, 'Save this ConfigMap');
    await page.getByText('ConfigMap ordered is saved.').waitFor();
    expect(await stored('ordered')).to.deep.equal({ key: 'after' });
    visitor.takeComplaints();
  });

  it('keeps the namespace of an object that the user goes on editing', async () => {
    await page.goto(`${demo.url}/r/core/v1/configmaps/ns/default/ordered/yaml`);
    await press(page, 'Edit');
    await editor().fill(map('ordered', 'unsaved'));
    page.once('dialog', (asked) => void asked.dismiss());
    await chooseNamespace(page, 'shop');
    expect(await namespaceField(page).inputValue()).to.equal('default');
    expect(Object.values(await kept(page)))
      .to.include('default')
      .and.not.include('shop');
    page.once('dialog', (asked) => void asked.accept());
    await chooseNamespace(page, 'shop');
    await page.waitForURL(/\/r\/core\/v1\/configmaps\/ns\/shop$/);
    expect(Object.values(await kept(page))).to.include('shop');
    visitor.takeComplaints();
  });

  it('asks before Back or Forward discards unsaved text', async () => {
    const details = `${demo.url}/r/core/v1/configmaps/ns/default/ordered`;
    await page.goto(details);
    await page.locator('a[href$="/ordered/yaml"]').first().click();
    await press(page, 'Edit');
    // A page after this one, for Forward.
    await page.locator('.crumb a').first().click();
    await page.waitForURL((url) => !url.pathname.includes('/ordered'));
    await page.goBack();
    await press(page, 'Edit');
    await editor().fill(map('ordered', 'unsaved'));
    const answer = async (isLeft: boolean, step: 'back' | 'forward') => {
      const asked = page.waitForEvent('dialog');
      await Promise.all([asked.then((dialog) => (isLeft ? dialog.accept() : dialog.dismiss())), page.evaluate(`history.${step}()`)]);
    };
    for (const step of ['back', 'forward'] as const) {
      await answer(false, step);
      await page.waitForURL(`${details}/yaml`);
      expect(await editor().textContent()).to.include('unsaved');
    }
    await answer(true, 'back');
    await page.waitForURL(details);
    await editor().waitFor({ state: 'detached' });
    visitor.takeComplaints();
  });

  it('applies several documents in order, with a result for each', async () => {
    await open('core/v1/configmaps/ns/default');
    await write([map('first', 'a'), map('second', 'b')].join('---\n'));
    await results().getByText('Will be created').nth(1).waitFor();
    expect(await stored('first')).to.equal(404);
    expect(await barriers(page)).to.deep.equal([]);
    await press(page, 'Apply 2 objects');
    await page.getByText('2 done, 0 failed, 0 not sent.').waitFor();
    expect(await stored('second')).to.deep.equal({ key: 'b' });

    await press(page, 'Continue editing');
    await write([map('first', 'a'), map('second', 'c'), map('third', 'd')].join('---\n'));
    await press(page, 'Apply 3 objects');
    await page.getByText('3 done, 0 failed, 0 not sent.').waitFor();

    expect(await results().allTextContents()).to.deep.equal([
      'UnchangedConfigMap first · default',
      'ChangedConfigMap second · default',
      'CreatedConfigMap third · default',
    ]);
    expect(await stored('second')).to.deep.equal({ key: 'c' });
    visitor.takeComplaints();
  });

  it('applies no document if the dry run refuses one', async () => {
    await open('core/v1/configmaps/ns/default');
    await write([map('fourth', 'a'), map('Not_A_Name', 'b')].join('---\n'));
    await results().getByText('Failed').waitFor();

    expect(await page.getByRole('button', { name: 'Apply 2 objects' }).getAttribute('aria-disabled')).to.equal('true');
    expect(await stored('fourth')).to.equal(404);
    visitor.takeComplaints();
  });

  it('sends no further document once the page is left', async () => {
    await open('core/v1/configmaps/ns/default');
    await write([map('left', 'a'), map('unsent', 'b')].join('---\n'));
    const creation = await hold(page, 'POST', /configmaps\?fieldValidation/);
    const writes = countOf(page, 'POST', /configmaps\?fieldValidation/);
    await press(page, 'Apply 2 objects');
    await creation.begun;
    page.once('dialog', (asked) => void asked.accept());
    await page.locator('.crumb a').click();
    await page.getByRole('link', { name: 'first', exact: true }).waitFor();
    await creation.release();
    await press(page, 'Show');
    await page.getByRole('link', { name: 'left', exact: true }).waitFor();
    expect(await writes()).to.equal(1);
    expect(await stored('unsent')).to.equal(404);
    visitor.takeComplaints();
  });

  it('stops at a failure and names the documents that were not sent', async () => {
    await page.route(/configmaps\?fieldValidation/, async (route) => {
      const isBad = route.request().postData()?.includes('"sixth"') === true;
      if (isBad) await route.fulfill({ status: 403, json: { kind: 'Status', code: 403, message: 'a quota refuses it' } });
      else await route.continue();
    });
    await open('core/v1/configmaps/ns/default');
    await write([map('fifth', 'a'), map('sixth', 'b'), map('seventh', 'c')].join('---\n'));
    await press(page, 'Apply 3 objects');
    await page.getByText('1 done, 1 failed, 1 not sent.').waitFor();

    expect(await stored('fifth')).to.deep.equal({ key: 'a' });
    expect(await stored('seventh')).to.equal(404);
    visitor.takeComplaints();
  });
});

describe('a list whose continue token expires', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const row = (name: string) => ({ cells: [name], metadata: { name, namespace: 'default', uid: `u-${name}` } });
  const pageOf = (names: readonly string[], next: string) => {
    const table = JSON.parse(tableOf(['Name'], names.map(row))) as { metadata: object };
    return JSON.stringify({ ...table, metadata: { ...table.metadata, ...(next && { continue: next }) } });
  };

  it('is read again to the same length, without lost or doubled rows', async () => {
    const expired = { status: 410, body: '{"kind":"Status","code":410,"reason":"Expired","message":"the continue token is too old"}' };
    let reads = 0;
    await addKind(
      page,
      { group: 'example.com', resource: 'things', kind: 'Thing' },
      {
        'GET /things': (request) => {
          const from = new URL(request.url()).searchParams.get('continue');
          if (from === 'old') return expired;
          if (from === 'new') return { body: pageOf(['c', 'd'], '') };
          reads += 1;
          return { body: reads === 1 ? pageOf(['a', 'b'], 'old') : pageOf(['b', 'b2'], 'new') };
        },
      },
    );
    await page.goto(`${demo.url}/r/example.com/v1/things`);
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.getByText('All pages were loaded again.').waitFor();
    await page.getByRole('link', { name: 'd', exact: true }).waitFor();

    expect(await page.locator('td.c-name a, .c-name a').allTextContents()).to.deep.equal(['b', 'b2', 'c', 'd']);
    visitor.takeComplaints();
  });
});
