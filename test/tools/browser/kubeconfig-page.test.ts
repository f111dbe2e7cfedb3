import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { atCorp, linkedUser } from '../../service/login/linking.ts';
import { jane, TwoIssuers } from '../../service/login/two-issuers.ts';
import { forSuite } from '../../support/for-suite.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn } from './demo.ts';

/** The cluster accepts no tokens. The console accepts those of the embedded issuer, and none of the command-line client of `corp`. */
describe('the page Kubeconfig of a user with two accounts', () => {
  const browser = forSuite(
    () => startChromium(),
    (it) => it.close(),
  );
  const two = forSuite(() => TwoIssuers.start({}, { files: theConsole }));

  let page: Page;
  before(async () => {
    two.corp.person = atCorp('jane');
    await linkedUser(two, jane);
    const visitor = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true }));
    page = await visitor.openTab();
    await page.goto(`${two.service.url}/kubeconfig`);
    await page.getByRole('button', { name: 'Log in with Corp' }).click();
    await isLoggedIn(page, 'corp:jane@corp.example');
  });

  it('offers the issuer of each, and explains if no server accepts tokens of one', async () => {
    const choice = page.getByLabel('Issuer of the login');
    await choice.waitFor();
    expect(await choice.getByRole('option').allInnerTexts()).to.deep.equal(['Corp (corp:jane@corp.example)', `Local users (${jane})`]);
    await page.getByText('Neither the cluster nor this console accepts tokens of this login').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    const asked = page.waitForResponse((response) => response.url().endsWith('/auth/v1/kubeconfig?issuer=local'));
    await choice.selectOption({ label: `Local users (${jane})` });
    expect((await asked).status()).to.equal(200);
    await page.getByText(`server: ${two.service.url}/api/kubernetes`).waitFor();
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('offers kubectl-atrium with its checksum, and the commands that install it', async () => {
    const begun = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download kubectl-atrium' }).click();
    const program = await readFile(await (await begun).path());
    const sum = hash('sha256', program);
    const commands = await page.getByRole('region', { name: 'Commands to install kubectl-atrium' }).innerText();
    expect(commands).to.contain(
      `curl -fLO ${two.service.url}/downloads/kubectl-atrium\necho '${sum}  kubectl-atrium' | sha256sum --check\n`,
    );
    await page.getByText(`SHA-256 checksum: ${sum}`).waitFor();
    expect(program.toString()).to.match(/^#!\/usr\/bin\/env node\n/);
  });
});
