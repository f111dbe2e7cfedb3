/** Pages of a CustomResourceDefinition and of custom resources. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { loggedIn } from './demo.ts';
import { create, inspect } from './kind-pages.ts';

const group = 'stores.example.com';
const described = (type: string, description: string, more: object = {}) => ({ type, description, ...more });
const schema = {
  type: 'object',
  properties: {
    spec: described('object', 'The wish of the owner.', {
      properties: {
        doors: described('integer', 'The number of doors that face the street.'),
        code: described('string', 'The code of the alarm, four digits.'),
        shelves: described('array', 'The shelves from left to right.', {
          items: { type: 'object', properties: { name: described('string', 'The sign above the shelf.'), width: { type: 'integer' } } },
        }),
      },
    }),
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `shops.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'shops', kind: 'Shop', shortNames: ['sh'] },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } },
        additionalPrinterColumns: [
          { name: 'Doors', type: 'integer', jsonPath: '.spec.doors' },
          { name: 'Code', type: 'string', jsonPath: '.spec.code', priority: 1 },
        ],
      },
    ],
  },
};
const shop = (name: string, members: object) => ({ apiVersion: `${group}/v1`, kind: 'Shop', metadata: { name }, ...members });

describe('the pages of a CustomResourceDefinition and its objects', () => {
  const { demo, page } = loggedIn('admin', '/');
  const section = (name: string) => page.getByRole('region', { name, exact: true });
  const open = async (target: Page, name: string) => {
    await target.goto(`${demo.url}/r/${group}/v1/shops/ns/shop/${name}`);
    await target.getByRole('heading', { name, exact: true }).waitFor();
  };

  before(async () => {
    await create(demo, 'apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
    await create(
      demo,
      `apis/${group}/v1/namespaces/shop/shops`,
      shop('corner', {
        spec: {
          doors: 2,
          code: '0042',
          shelves: [
            { name: 'bread', width: 3 },
            { name: 'milk', width: 1 },
          ],
        },
        status: {
          conditions: [
            { type: 'Ready', status: 'False', reason: 'NoRent', message: 'The rent is due.', lastTransitionTime: '2026-01-12T08:30:00Z' },
          ],
        },
      }),
    );
  });

  it('show versions, columns and the number of instances of a definition', async () => {
    await page.goto(`${demo.url}/r/apiextensions.k8s.io/v1/customresourcedefinitions`);
    await page.getByRole('link', { name: `shops.${group}` }).click();
    await section('Instances').waitFor();
    // Addresses of names with a dot must work after a reload, too.
    await page.reload();
    await section('Instances').getByText('1 instance.').waitFor();
    await page.locator('.notice.ok').getByText('Established').waitFor();
    expect(await page.getByRole('table', { name: 'Versions' }).innerText()).to.match(/v1\s+Yes\s+Yes/);
    expect(await page.getByRole('table', { name: 'Columns of kubectl' }).innerText()).to.match(
      /Doors\s+integer\s+\.spec\.doors[\s\S]*Code\s+string\s+\.spec\.code\s+With -o wide/,
    );
    await inspect(page, 'definition');
    await section('Instances').getByRole('link', { name: 'All Shops' }).click();
    await page.getByRole('link', { name: 'corner' }).waitFor();
  });

  it('show the fields of an object, its failing conditions, and the descriptions of the schema on demand', async () => {
    await open(page, 'corner');
    await page.getByText('Ready is false').waitFor();
    await page.getByRole('alert').getByText('The rent is due.').waitFor();
    expect(await page.getByRole('main').getByRole('heading', { level: 2 }).allInnerTexts()).to.deep.equal(['Conditions', 'Fields']);
    const fields = section('Fields');
    expect(await fields.getByText('status').count()).to.equal(0);
    expect(await fields.innerText()).to.match(/doors\s*2[\s\S]*code\s*"0042"|code\s*"0042"[\s\S]*doors\s*2/);
    expect(await fields.innerText())
      .to.contain('bread')
      .and.not.to.contain('face the street');
    await inspect(page, 'custom');
    await fields.getByLabel('Explain the fields').check();
    await fields.getByText('The number of doors that face the street.').waitFor();
    await fields.getByText('The sign above the shelf.').first().waitFor();
    await inspect(page, 'custom-explained');
  });

  it('keep to their bounds for hostile objects', async () => {
    let deep: unknown = 'end';
    for (let level = 0; level < 60; level += 1) deep = { [`level${level}`]: deep };
    const wide = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`key-${index}`, { value: index }]));
    await create(
      demo,
      `apis/${group}/v1/namespaces/shop/shops`,
      shop('hostile', {
        status: {
          ...{
            deep,
            wide,
            long: 'x'.repeat(50_000),
            markup: '<img src=x onerror=alert(1)>',
            ['name-without-a-place-to-break'.repeat(9)]: 1,
          },
          conditions: [
            null,
            'text',
            { type: { a: 1 }, lastTransitionTime: 'soon', status: 7 },
            { type: 'Ready', status: 'True', lastTransitionTime: 'soon' },
          ],
        },
      }),
    );
    await open(page, 'hostile');
    await section('Fields').getByText('2900 more are on the YAML tab.').waitFor();
    expect(await section('Fields').locator('li').count()).to.be.below(250);
    await inspect(page, 'custom-hostile');
  });
});
