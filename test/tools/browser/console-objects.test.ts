/** Objects of the cluster in the console: numbers, texts and names are shown and sent unchanged. */
import { expect } from 'chai';
import { barriers } from './axe.ts';
import { addKind, addToDiscovery, tableOf } from './cluster-answers.ts';
import { loggedIn, press } from './demo.ts';

describe('the page of an object of the cluster in the console', () => {
  const { demo, page, visitor } = loggedIn('admin', '/');
  const names = () => page.locator('td.c-name a').allTextContents();
  const editor = () => page.locator('.cm-content');
  const type = async (text: string) => {
    await editor().focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text);
  };

  afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

  it('names the right address for an address with a namespace in the wrong place', async () => {
    for (const [wrong, right] of [
      ['/r/apps/v1/deployments/shop/storefront', '/r/apps/v1/deployments/ns/shop/storefront'],
      ['/r/apps/v1/deployments/shop/storefront/yaml', '/r/apps/v1/deployments/ns/shop/storefront/yaml'],
      ['/r/apps/v1/deployments/shop', '/r/apps/v1/deployments/ns/shop'],
      ['/r/core/v1/nodes/ns/shop/node-1/yaml', '/r/core/v1/nodes/node-1/yaml'],
    ] as const) {
      await page.goto(`${demo.url}${wrong}`);
      await page.getByRole('heading', { level: 1, name: 'There is no page at this address' }).waitFor();
      const link = page.locator('main a.address');
      expect([await link.getAttribute('href'), await link.textContent()]).to.deep.equal([right, right]);
    }
    expect(await barriers(page)).to.deep.equal([]);
    await page.goto(`${demo.url}/r/apps/v1/deployments/shop/storefront`);
    await page.locator('main a.address').click();
    await page.getByRole('heading', { level: 1, name: 'storefront' }).waitFor();
    await page.goto(`${demo.url}/r/core/v1/nodes/node-1/yaml/more`);
    await page.getByRole('heading', { level: 1, name: 'There is no page at this address' }).waitFor();
    // The object is requested before the kind is known.
    visitor.takeComplaints();
  });

  it('tells a deletion that is over from one that a finalizer or a grace period delays', async () => {
    const gone = { kind: 'Status', status: 'Success' };
    const deletionTimestamp = '2026-11-28T10:00:00Z';
    const metadata = { name: 'x', namespace: 'default', uid: 'u-x', resourceVersion: '1', creationTimestamp: '2026-11-26T10:00:00Z' };
    const deleting = (more: object) => ({ kind: 'Box', metadata: { ...metadata, deletionTimestamp, ...more } });
    const cases: [icon: string, text: string, answer: object][] = [
      ['ok', 'Box x is deleted.', gone],
      ['ok', 'Box x is deleted.', { kind: 'Box', metadata }],
      ['ok', 'Box x is deleted.', deleting({ deletionGracePeriodSeconds: 0 })],
      ['info', 'Box x is being deleted.', deleting({ deletionGracePeriodSeconds: 0, finalizers: ['foregroundDeletion'] })],
      ['info', 'Box x is being deleted.', deleting({ deletionGracePeriodSeconds: 30 })],
      ['info', 'Box x is being deleted.', deleting({})],
    ];
    let answer: object = gone;
    await addKind(
      page,
      { group: 'box.example.com', resource: 'boxes', kind: 'Box' },
      {
        'GET /namespaces/default/boxes': () => ({ body: tableOf(['Name'], []) }),
        'GET /namespaces/default/boxes/x': () => ({ body: JSON.stringify({ apiVersion: 'box.example.com/v1', kind: 'Box', metadata }) }),
        'DELETE /namespaces/default/boxes/x': () => ({ body: JSON.stringify(answer) }),
      },
    );
    for (const [icon, text, given] of cases) {
      answer = given;
      await page.goto(`${demo.url}/r/box.example.com/v1/boxes/ns/default/x`);
      await press(page, 'More actions');
      await page.getByRole('menuitem', { name: 'Delete' }).click();
      await page.getByLabel('Type x to confirm').fill('x');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete Box x' }).click();
      await page.locator(`.toast.${icon}`).getByText(text, { exact: true }).waitFor();
    }
  });

  it('cases/04 keeps the digits of an int64 in the YAML tab, the dry run, the save and the list', async () => {
    const ledger = (note: string) =>
      `{"apiVersion":"big.example.com/v1","kind":"Ledger","metadata":{"name":"l1","namespace":"default","uid":"u-l1","resourceVersion":"1000",` +
      `"creationTimestamp":"2026-11-26T10:00:00Z"},"spec":{"account":9007199254740993,"note":"${note}"}}`;
    const sent: string[] = [];
    const table = tableOf(['Name', 'Account'], [{ cells: ['l1', 0], metadata: JSON.parse(ledger('')).metadata }]);
    await addKind(
      page,
      { group: 'big.example.com', resource: 'ledgers', kind: 'Ledger' },
      {
        'GET /ledgers': () => ({ body: table.replace('["l1",0]', '["l1",9007199254740993]') }),
        'GET /namespaces/default/ledgers/l1': () => ({ body: ledger('hello') }),
        'PUT /namespaces/default/ledgers/l1': (request) => {
          sent.push(request.postData() ?? '');
          return { body: ledger('changed') };
        },
      },
    );
    await page.goto(`${demo.url}/r/big.example.com/v1/ledgers/ns/default/l1/yaml`);
    await editor().getByText('account: 9007199254740993').waitFor();
    await press(page, 'Edit');
    await editor().getByText('account: 9007199254740993').waitFor();
    await type(
      'apiVersion: big.example.com/v1\nkind: Ledger\nmetadata: {name: l1, namespace: default}\nspec:\n  account: 9007199254740993\n  note: changed\n',
    );
    await press(page, 'Review the changes');
    await page.locator('.cm-changedLine', { hasText: 'note: changed' }).waitFor();
    await press(page, 'Save this Ledger');
    await page.getByText('Ledger l1 is saved.').waitFor();

    expect(sent).to.have.lengthOf(2);
    for (const body of sent) expect(body).to.contain('"account":9007199254740993,');
    await page.goto(`${demo.url}/r/big.example.com/v1/ledgers`);
    await page.getByRole('cell', { name: '9007199254740993' }).waitFor();
  });

  it('cases/01 shows, follows, selects and deletes each row of a list whose objects have no uid', async () => {
    const metadata = (name: string) => ({ name, creationTimestamp: '2026-11-26T19:00:00Z' });
    const left = new Set(['n1', 'n2', 'n3', 'n4']);
    const sent: unknown[] = [];
    const remove = (name: string) => (request: { postDataJSON(): unknown }) => {
      left.delete(name);
      sent.push(request.postDataJSON());
      return { body: '{"kind":"Status","status":"Success"}' };
    };
    await addKind(
      page,
      { group: 'metrics.example.com', resource: 'nodes', kind: 'NodeMetrics', isNamespaced: false, verbs: ['delete', 'list', 'watch'] },
      {
        'GET /nodes': (request) =>
          new URL(request.url()).searchParams.has('watch')
            ? { body: `{"type":"MODIFIED","object":${tableOf(['Name', 'cpu'], [{ cells: ['n1', '999m'], metadata: metadata('n1') }])}}\n` }
            : {
                body: tableOf(
                  ['Name', 'cpu'],
                  [...left].map((name) => ({ cells: [name, '250m'], metadata: metadata(name) })),
                ),
              },
        'DELETE /nodes/n2': remove('n2'),
        'DELETE /nodes/n3': remove('n3'),
      },
    );
    await page.goto(`${demo.url}/r/metrics.example.com/v1/nodes`);
    await page.getByText('4 objects').waitFor();
    expect(await names()).to.deep.equal(['n1', 'n2', 'n3', 'n4']);
    await page.getByRole('row', { name: /n1/ }).getByText('999m').waitFor();
    expect(await page.getByText('250m').count()).to.equal(3);
    await page.getByLabel('Select n2').check();
    await page.getByLabel('Select n3').check();
    await page.getByText('2 selected').waitFor();
    await press(page, 'Delete');
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Delete 2/ })
      .click();
    await page.getByText('2 objects').waitFor();

    expect(await names()).to.deep.equal(['n1', 'n4']);
    expect(sent).to.deep.equal(Array(2).fill({ apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' }));
  });

  it('cases/02 shows the objects of a list from an API without Tables', async () => {
    const item = (name: string) => ({
      metadata: { name, namespace: 'default', uid: `u-${name}`, creationTimestamp: '2026-11-26T10:00:00Z' },
    });
    let accepted = '';
    await addKind(
      page,
      { group: 'plain.example.com', resource: 'things', kind: 'Thing' },
      {
        'GET /things': (request) => {
          accepted = request.headers().accept ?? '';
          return {
            body: JSON.stringify({
              ...{ apiVersion: 'plain.example.com/v1', kind: 'ThingList' },
              ...{ metadata: { resourceVersion: '5' }, items: ['a', 'b', 'c'].map(item) },
            }),
          };
        },
      },
    );
    await page.goto(`${demo.url}/r/plain.example.com/v1/things`);
    await page.getByText('3 objects').waitFor();

    expect(await names()).to.deep.equal(['a', 'b', 'c']);
    expect(await page.locator('thead th:not(.check)').allTextContents()).to.deep.equal(['Name', 'Namespace', 'Age']);
    expect(accepted).to.equal('application/json;as=Table;g=meta.k8s.io;v=v1, application/json');
  });

  it('cases/12 sorts quantities and durations by value', async () => {
    const rows = [
      ['v1', '900Mi', '100m', '3d4h'],
      ['v2', '2Gi', '2', '59s'],
      ['v3', '1Ti', '1500m', '2y10d'],
      ['v4', '512Ki', '1', '12m'],
    ].map((cells) => ({ cells, metadata: { name: cells[0], uid: `u-${cells[0]}`, creationTimestamp: '2026-11-26T10:00:00Z' } }));
    await addKind(
      page,
      { group: 'cap.example.com', resource: 'volumes', kind: 'Volume', isNamespaced: false },
      { 'GET /volumes': () => ({ body: tableOf(['Name', 'Capacity', 'CPU', 'Bound'], rows) }) },
    );
    const sorted = async (by: string, order: readonly string[]) => {
      await page.goto(`${demo.url}/r/cap.example.com/v1/volumes?sort=${by}`);
      await page.getByText('4 objects').waitFor();
      expect(await names()).to.deep.equal(order);
    };
    await sorted('Capacity', ['v4', 'v1', 'v2', 'v3']);
    await sorted('-Capacity', ['v3', 'v2', 'v1', 'v4']);
    await sorted('CPU', ['v1', 'v4', 'v3', 'v2']);
    await sorted('Bound', ['v2', 'v4', 'v1', 'v3']);
  });

  it('cases/03 sends numbers of a typed text as kubectl does, and names the line of a mistake', async () => {
    const sent: string[] = [];
    await addKind(
      page,
      { group: 'plain.example.com', resource: 'things', kind: 'Thing' },
      {
        'POST /namespaces/default/things': (request) => {
          sent.push(request.postData() ?? '');
          return { status: 201, body: request.postData() ?? '' };
        },
        // "Cancel" leads to the list.
        'GET /namespaces/default/things': () => ({ body: tableOf(['Name'], []) }),
      },
    );
    await page.route('**/openapi/v3/apis/plain.example.com/v1', (route) => route.fulfill({ json: { components: { schemas: {} } } }));
    const head = 'apiVersion: plain.example.com/v1\nkind: Thing\nmetadata: {name: t, namespace: default}\n';
    await page.goto(`${demo.url}/new/plain.example.com/v1/things/ns/default`);
    await editor().waitFor();
    const review = async (text: string) => {
      await type(text);
      await press(page, 'Review the changes');
    };
    await review(`${head}spec: {~: x}\n`);
    await page.getByText('Line 4: the key is not a text. Put it in quotes.').waitFor();
    await review(`${head}spec: {share: .inf}\n`);
    await page.getByText('share is a number that this browser or JSON cannot hold. Nothing was sent.').waitFor();
    expect(sent).to.deep.equal([]);
    await review(`---\n${head}spec:\n  defaultMode: 0400\n  hostNetwork: yes\n  size: 9007199254740993\n---\n`);
    await page.getByText('see the new object below').waitFor();

    expect(sent).to.have.lengthOf(1);
    expect(sent[0]).to.contain('"spec":{"defaultMode":256,"hostNetwork":true,"size":9007199254740993}');
    page.once('dialog', (question) => void question.accept());
    await press(page, 'Cancel');
  });

  it('cases/26 keeps the values of a Secret masked in Edit, and sends them back unchanged', async () => {
    const data = { blob: 'AAEC/w==', password: 'aHVudGVyMg==' };
    const metadata = {
      name: 'hidden',
      namespace: 'default',
      uid: 'u-hidden',
      resourceVersion: '7',
      creationTimestamp: '2026-11-26T10:00:00Z',
    };
    const sent: { data: unknown; metadata: { labels?: unknown } }[] = [];
    await page.route('**/api/kubernetes/api/v1/namespaces/default/secrets/hidden*', async (route) => {
      const body = route.request().postDataJSON();
      if (body !== null) sent.push(body);
      await route.fulfill({ json: { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data, ...body } });
    });
    await page.goto(`${demo.url}/r/core/v1/secrets/ns/default/hidden/yaml`);
    await editor().getByText('password: ••••••••').waitFor();
    await press(page, 'Edit');
    await page.getByText('Masked values stay as they are.').waitFor();
    await editor().getByText('password: ••••••••').waitFor();
    expect(await editor().textContent()).not.to.contain('aHVudGVyMg==');
    const text = (password: string, more = '') =>
      `apiVersion: v1\nkind: Secret\nmetadata: {name: hidden, namespace: default, labels: {a: b}}\ntype: Opaque\n` +
      `data:\n  blob: ••••••••\n  password: ${password}\n${more}`;
    await type(text('••••••••', '  lone: ••••••••\n'));
    await press(page, 'Review the changes');
    await page.getByText('lone: the mask has no stored value.').waitFor();
    await type(text('••••••••'));
    await press(page, 'Review the changes');
    await page.getByText('see the changes below').waitFor();
    expect(await page.getByRole('main').textContent()).not.to.contain('aHVudGVyMg==');
    await press(page, 'Continue editing');
    await type(text('bmV3'));
    await press(page, 'Review the changes');
    await page.locator('.cm-changedLine', { hasText: 'bmV3' }).waitFor();

    expect(sent.map(({ data: given }) => given)).to.deep.equal([data, { ...data, password: 'bmV3' }]);
    expect(sent[0]?.metadata.labels).to.deep.equal({ a: 'b' });
    page.once('dialog', (question) => void question.accept());
    await press(page, 'Cancel');
  });

  it('cases/10 names an API group that the API server cannot reach', async () => {
    const versions = [{ version: 'v1', resources: [], freshness: 'Stale' }];
    await addToDiscovery(page, { metadata: { name: 'stale.example.com' }, versions });
    const notice = () => page.getByText('The API server cannot reach stale.example.com/v1 just now.');
    await page.goto(`${demo.url}/kinds`);
    await notice().waitFor();
    await page.goto(`${demo.url}/r/stale.example.com/v1/things`);
    await notice().waitFor();

    expect(await page.getByText('The cluster has no such kind in this version.').count()).to.equal(0);
    await page.goto(`${demo.url}/r/other.example.com/v1/things`);
    await page.getByText('The cluster has no such kind in this version.').waitFor();
  });
});
