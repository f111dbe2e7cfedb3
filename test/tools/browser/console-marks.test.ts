/** Marks in the editor of the console: mistakes by the schema of a kind, and refusals of the API server, at their lines. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { loggedIn, press } from './demo.ts';

const map =
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: flags\n  namespace: shop\ndata:\n  debug: true\n  port: 8080\n  name: "shop"\n';
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: two
  replica: 2
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: other
    spec:
      containers:
      - name: web
        imagePullPolicy: Sometimes
        command: sleep
      - image: web:1
`;

describe('the marks of the editor', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const editor = () => page.locator('.edit-code .cm-content');
  const marks = () => page.locator('.cm-marks li').allTextContents();
  const open = async (kind: string, text: string) => {
    await page.goto(`${demo.url}/new/${kind}`);
    await editor().click();
    // The command of the editor selects, so that the editor knows of it before the text comes.
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text);
  };
  const shown = (expected: readonly string[]) =>
    eventually(marks, (found) => JSON.stringify(found) === JSON.stringify(expected)).catch(async () =>
      expect(await marks()).to.deep.equal(expected),
    );

  it('name booleans and numbers in a ConfigMap, each at its line', async () => {
    await open('core/v1/configmaps/ns/shop', map);
    await shown(['Line 7: data.debug must be a text. Put true in quotes.', 'Line 8: data.port must be a text. Put 8080 in quotes.']);
    expect(await page.locator('.cm-marks p').textContent()).to.equal('2 marks in the text');
    expect(await page.locator('.cm-lintRange-error').allTextContents()).to.deep.equal(['true', '8080']);
    expect(await page.locator('.cm-lint-marker-error').count()).to.equal(2);
  });

  it('name wrong types and values, unknown and missing fields of a built-in kind', async () => {
    await open('apps/v1/deployments/ns/shop', deployment);
    await shown([
      'Line 7: spec.replicas must be a whole number.',
      'Line 8: The field spec.replica does not exist. Did you mean replicas?',
      'Line 19: spec.template.spec.containers[0].imagePullPolicy must be one of: Always, IfNotPresent, Never.',
      'Line 20: spec.template.spec.containers[0].command must be a list.',
      'Line 21: The field spec.template.spec.containers[1].name is required.',
    ]);
  });

  it('know custom resources', async () => {
    await open(
      'auth.platform.io/v1/users',
      'apiVersion: auth.platform.io/v1\nkind: User\nmetadata:\n  name: x\nspec:\n  emial: x@example.com\n',
    );
    await page.locator('.cm-marks li').first().waitFor();
    const found = (await marks()).filter((mark) => /emi?ai?l/.test(mark));
    expect(found).to.deep.equal([
      'Line 6: The field spec.emial does not exist. Did you mean email?',
      'Line 6: The field spec.email is required.',
    ]);
  });

  it('are reached and followed by keyboard, also on a phone', async () => {
    await open('core/v1/configmaps/ns/shop', map);
    await page.locator('.cm-marks button').first().waitFor();
    await page.locator('.cm-marks button').last().focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('x');
    await shown(['Line 7: data.debug must be a text. Put true in quotes.']);
    await page.keyboard.press('Backspace');
    await page.locator('.cm-marks li').nth(1).waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(390);
    expect(await barriers(page)).to.deep.equal([]);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await barriers(page)).to.deep.equal([]);
    await page.emulateMedia({ colorScheme: 'light' });
  });

  it('mark the field that the API server refuses, until its text changes', async () => {
    const text = deployment
      .replace('two\n  replica: 2', '2')
      .replace('imagePullPolicy: Sometimes\n        command: sleep\n      - image', 'image');
    await open('apps/v1/deployments/ns/shop', text);
    await press(page, 'Review the changes');
    await page.locator('.cm-marks li').waitFor();
    expect(await marks()).to.deep.equal(['Line 13: Invalid value: {"app":"other"}: `selector` does not match template `labels`']);
    expect(await barriers(page)).to.deep.equal([]);
    await page.locator('.cm-marks button').click();
    await page.keyboard.press('Delete');
    await page.locator('.cm-marks li', { hasText: 'selector' }).waitFor({ state: 'detached' });
    // The browser reports the refusal, too.
    visitor.takeComplaints();
  });

  it('name each document of a text by its own kind', async () => {
    await open('core/v1/configmaps/ns/shop', `${map}---\n${deployment}`);
    await shown([
      'Line 7: data.debug must be a text. Put true in quotes.',
      'Line 8: data.port must be a text. Put 8080 in quotes.',
      'Line 17: spec.replicas must be a whole number.',
      'Line 18: The field spec.replica does not exist. Did you mean replicas?',
      'Line 29: spec.template.spec.containers[0].imagePullPolicy must be one of: Always, IfNotPresent, Never.',
      'Line 30: spec.template.spec.containers[0].command must be a list.',
      'Line 31: The field spec.template.spec.containers[1].name is required.',
    ]);
  });
});
