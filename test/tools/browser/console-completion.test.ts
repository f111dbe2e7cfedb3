/** Fields of Kubernetes in the editor of the console: completed and explained by the schemas of the API server. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { loggedIn, press } from './demo.ts';

describe('the editor of the console', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const editor = () => page.locator('.edit-code .cm-content');
  const explained = () => page.locator('.cm-explained');
  const option = (name: string) => page.locator('.cm-tooltip-autocomplete li', { hasText: name });
  /** Accepts the first option. CodeMirror ignores keys in the first 75 ms of its list, and no event tells their end. */
  const accept = async (name: string) => {
    await option(name).waitFor();
    await page.waitForTimeout(150);
    await page.keyboard.press('Enter');
  };
  const open = async (path: string) => {
    await page.goto(`${demo.url}${path}`);
    await editor().click();
    await page.keyboard.press('Control+End');
  };
  const lastLine = async () => (await page.locator('.edit-code .cm-line').last().textContent()) ?? '';

  it('completes a field and its value by keyboard, and the cluster accepts the result', async () => {
    await open('/new/apps/v1/deployments/ns/shop');
    await page.keyboard.type('        imageP');
    await accept('imagePullPolicy');
    expect(await lastLine()).to.equal('        imagePullPolicy: ');
    await page.keyboard.press('Control+Space');
    await option('IfNotPresent').waitFor();
    expect(await page.locator('.cm-tooltip-autocomplete li').allTextContents()).to.deep.equal(['Always', 'IfNotPresent', 'Never']);
    expect(await barriers(page)).to.deep.equal([]);
    await page.keyboard.press('ArrowDown');
    await accept('IfNotPresent');
    expect(await lastLine()).to.equal('        imagePullPolicy: IfNotPresent');
    await press(page, 'Review the changes');
    await page.getByText('The cluster has tried the text: see the new object below.').waitFor();
  });

  it('begins the list or the mapping of a field, and leaves out existing fields', async () => {
    await open('/new/apps/v1/deployments/ns/shop');
    await page.keyboard.type('        envF');
    await accept('envFrom');
    expect(await lastLine()).to.equal('        - ');
    await page.keyboard.type('secretR');
    await accept('secretRef');
    expect(await lastLine()).to.equal(' '.repeat(12));
    await page.keyboard.press('Control+Space');
    await option('optional').waitFor();
    await page.keyboard.press('Escape');

    await open('/new/apps/v1/deployments/ns/shop');
    await page.keyboard.type('  ');
    await page.keyboard.press('Control+Space');
    await option('minReadySeconds').waitFor();
    expect(await option('replicas').count()).to.equal(0);
  });

  it('explains the field on the line of the cursor', async () => {
    await open('/new/apps/v1/deployments/ns/shop');
    await page.locator('.edit-code .cm-line', { hasText: 'containerPort' }).click();
    await explained().getByText('spec.template.spec.containers[].ports[].containerPort').waitFor();
    expect(await explained().textContent()).to.match(/integer required.*Number of port to expose/);
    await page.locator('.edit-code .cm-line', { hasText: 'replicas' }).click();
    await explained().getByText('spec.replicas').waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(390);
    expect(await barriers(page)).to.deep.equal([]);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('knows custom resources, and begins them with their required fields', async () => {
    await open('/new/auth.platform.io/v1/users');
    expect(await editor().textContent()).to.include('email: ""');
    await page.locator('.edit-code .cm-line', { hasText: 'email' }).click();
    await explained().getByText('spec.email').waitFor();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('is_d');
    await option('is_disabled').waitFor();
  });

  it('requests a document once in a session, and only when a text is edited', async () => {
    const asked: string[] = [];
    page.on('request', (request) => request.url().includes('/openapi/v3/') && asked.push(new URL(request.url()).pathname));
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront/yaml`);
    await page.locator('.cm-content').waitFor();
    expect(asked).to.deep.equal([]);
    for (const _ of [1, 2]) {
      await press(page, 'Edit');
      await page.locator('.edit-code .cm-line', { hasText: 'progressDeadlineSeconds' }).click();
      await explained().getByText('spec.progressDeadlineSeconds').waitFor();
      await press(page, 'Cancel');
    }
    expect(asked).to.deep.equal(['/api/kubernetes/openapi/v3/apis/apps/v1']);
  });

  it('edits without help if the document cannot be read, and does not request it again with each move', async () => {
    let asked = 0;
    await page.route('**/openapi/v3/**', async (route) => {
      asked += 1;
      await route.fulfill({ status: 403, json: { kind: 'Status', code: 403, message: 'forbidden' } });
    });
    await open('/new/apps/v1/deployments/ns/shop');
    for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp', 'End', 'Control+Space']) await page.keyboard.press(key);
    await explained().getByText('Ctrl+Space completes names and values.').waitFor();
    await press(page, 'Review the changes');
    await page.getByText('The cluster has tried the text: see the new object below.').waitFor();
    expect(asked).to.equal(1);
    await eventually(
      () => visitor.takeComplaints(),
      (complaints) => complaints.length === 0 || complaints.every((one) => one.includes('403')),
    );
  });
});
