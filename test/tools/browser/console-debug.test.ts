/** Ephemeral containers in the console: added to a pod of the demo, waited for, and used by their terminal. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { greyed, loggedIn, press } from './demo.ts';

interface PodShape {
  spec: { ephemeralContainers?: Record<string, unknown>[] };
  status: { ephemeralContainerStatuses?: { name: string; state: object }[] };
}

describe('Debug in the console', () => {
  const { demo, page } = loggedIn('admin', '/r/core/v1/pods/ns/shop');
  const dialog = () => page.getByRole('dialog');
  const terminal = () => page.locator('.terminal-host');
  let pod = '';
  const read = async () => {
    const { token } = demo.person('admin');
    const response = await fetch(`${demo.url}/api/kubernetes/api/v1/namespaces/shop/pods/${pod}`, {
      headers: { Authorization: `Bearer ${token}` },
    });
    return (await response.json()) as PodShape;
  };
  const openDialog = async () => {
    await press(page, 'More actions');
    await page.getByRole('menuitem', { name: 'Debug', exact: true }).click();
    await dialog().getByLabel('Image').waitFor();
  };

  it('adds a container to a pod, waits until it runs, and opens its terminal', async () => {
    await page
      .getByRole('link', { name: /^storefront-/ })
      .first()
      .click();
    pod = (await page.getByRole('heading', { level: 1, name: /^storefront-/ }).textContent()) ?? '';
    await openDialog();
    expect(await dialog().getByLabel('Image').inputValue()).to.equal('busybox:1.37');
    await dialog().getByText('As kubectl').click();
    expect(await dialog().locator('pre').textContent()).to.match(
      new RegExp(
        `^kubectl debug -it pods/${pod} -n shop --image=busybox:1.37 --container=debugger-\\w{5} --target=\\w+ --profile=baseline$`,
      ),
    );
    expect(await barriers(page)).to.deep.equal([]);
    await press(page, 'Add the container');
    await page.getByRole('button', { name: 'End', exact: true }).waitFor();
    const [added] = (await read()).spec.ephemeralContainers ?? [];
    expect(added).to.include({ image: 'busybox:1.37', stdin: true, tty: true });

    await page.keyboard.type('echo here$((40 + 2))\n');
    await eventually(
      async () => (await terminal().textContent()) ?? '',
      (text) => text.includes('echo here'),
    );
    expect(await barriers(page)).to.deep.equal([]);
    await page.keyboard.type('exit\n');
    await page.getByText('The shell ended with exit status 0.').waitFor();
    await eventually(
      async () => (await read()).status.ephemeralContainerStatuses?.[0]?.state,
      (state) => state !== undefined && 'terminated' in state,
    );
    await page.reload();
    await page.getByText('has ended, and cannot start again.').waitFor();
  });

  it('shows the reason for which an image cannot be pulled', async () => {
    await openDialog();
    await dialog().getByLabel('Image').fill('registry.example.com/tools:missing');
    await press(page, 'Add the container');
    await page.getByText(/has not started: (?:ErrImagePull|ImagePullBackOff)/).waitFor();
    expect(await page.getByRole('button', { name: 'End', exact: true }).count()).to.equal(0);
  });

  it('has no element wider than a phone', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await openDialog();
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(390);
    expect(await barriers(page)).to.deep.equal([]);
    await page.setViewportSize({ width: 1280, height: 900 });
  });
});

describe('Debug in the console of a caller who may only view', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('is greyed, and names the missing right', async () => {
    await page.route('**/auth/v1/selfsubjectaccessreviews*', async (route) => {
      const asked = route.request().postDataJSON() as { items?: { spec: { resourceAttributes: { subresource?: string } } }[] };
      const response = await route.fetch();
      const answer = (await response.json()) as { items?: { status: { allowed: boolean } }[] };
      for (const [index, item] of (answer.items ?? []).entries())
        if (asked.items?.[index]?.spec.resourceAttributes.subresource === 'ephemeralcontainers') item.status.allowed = false;
      await route.fulfill({ response, json: answer });
    });
    await page.goto(`${demo.url}/r/core/v1/pods/ns/shop`);
    await page
      .getByRole('link', { name: /^storefront-/ })
      .first()
      .click();
    await press(page, 'More actions');
    await greyed(page, 'Debug').press('Enter');
    await page.getByRole('dialog').getByText('patch pods/ephemeralcontainers').waitFor();
  });
});
