import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import type { Browser } from '../identity/browser.ts';
import { nameOf } from '../users/a-user.ts';
import { atCorp, beginLink, copyOf, recordOf, send } from './linking.ts';
import { TwoIssuers } from './two-issuers.ts';

const people = ['ada', 'bea', 'cora', 'dora', 'emma', 'flora', 'gina', 'hanna', 'ines'] as const;
const emailOf = (name: string) => `${name}@example.com`;

describe('linking of accounts at two replicas', () => {
  const two = forSuite(() => TwoIssuers.start({}, { emails: people.map(emailOf), replicas: 2 }));

  const here = async (name: string) => (await two.logInHere('cookie', '&issuer=local', emailOf(name))).browser;
  /** Completes a login at a replica, which need not be the one where it began. */
  const finish = (browser: Browser, answer: URLSearchParams, replica: 0 | 1) =>
    send(two, browser, 'GET', `/api/v2/token/callback?${answer}`, undefined, two.service.urls[replica]);
  const info = (browser: Browser, replica: 0 | 1) => send(two, browser, 'GET', '/api/v2/token/info', undefined, two.service.urls[replica]);
  /** Waits until both replicas show the links; one of them learns of a link later. */
  const hasLinks = async (browser: Browser, count: number) => {
    for (const at of two.service.urls)
      await eventually(
        async () => (await send(two, browser, 'GET', '/auth/v1/links', undefined, at)).body,
        (body) => (body as { items: unknown[] }).items.length === count,
      );
  };
  const subsOf = async (name: string) => {
    const { subjects = [] } = (await recordOf(two, nameOf(emailOf(name)))).status as { subjects?: { sub: string }[] };
    return subjects.map(({ sub }) => sub);
  };

  it('ends at another replica', async () => {
    two.corp.person = atCorp('ada');
    const browser = await here('ada');
    const { answer } = await beginLink(two, browser);
    const linked = await finish(browser, answer, 1);
    expect(linked.status, linked.text).to.equal(200);
    for (const replica of [0, 1] as const) expect((await info(browser, replica)).status).to.equal(200);
    await hasLinks(browser, 2);
  });

  it('ends once if both replicas get the same answer at the same moment', async () => {
    two.corp.person = atCorp('bea');
    const browser = await here('bea');
    const { answer } = await beginLink(two, browser);
    const replies = await Promise.all([finish(copyOf(two, browser), answer, 0), finish(copyOf(two, browser), answer, 1)]);
    const refused = replies.filter(({ status }) => status !== 200);
    expect(refused, replies.map(({ text }) => text).join('\n')).to.have.length(1);
    // The second callback fails at the used state (400), or at the code, which the issuer accepts once (401).
    expect(refused[0]?.status).to.be.oneOf([400, 401]);
    expect(await subsOf('bea')).to.deep.equal(['bea-1']);
  });

  for (const [first, second] of [
    ['cora', 'dora'],
    ['emma', 'flora'],
    ['hanna', 'gina'],
  ] as const)
    it(`ISS-02 gives an account that ${first} and ${second} link at the same moment to one of them`, async () => {
      two.corp.person = atCorp(`${first}-${second}`);
      const browsers = { [first]: await here(first), [second]: await here(second) };
      const answers = await Promise.all(Object.values(browsers).map((browser) => beginLink(two, browser)));
      const replies = await Promise.all(
        Object.values(browsers).map((browser, at) => finish(browser, answers[at]?.answer ?? new URLSearchParams(), at === 0 ? 0 : 1)),
      );
      const told = replies.map(({ status, text }) => `${status} ${text}`).join('\n');
      const winners = [first, second].filter((_, at) => replies[at]?.status === 200);
      expect(winners, told).to.have.length(1);
      for (const name of [first, second]) {
        const isWinner = winners.includes(name);
        expect(await subsOf(name), told).to.deep.equal(isWinner ? [`${first}-${second}-1`] : []);
        const browser = browsers[name] ?? two.newBrowser();
        expect((await info(browser, 0)).status, told).to.equal(200);
        await hasLinks(browser, isWinner ? 2 : 1);
      }
      for (const replica of [0, 1] as const) {
        const { browser, answer } = await two.begin();
        const there = await finish(browser, answer, replica);
        expect(there.body).to.have.nested.property('ext.user', nameOf(emailOf(winners[0] ?? '')));
      }
    });

  it('gives a user one of two accounts of an issuer that are linked at the same moment', async () => {
    const browsers = [await here('ines'), await here('ines')];
    const answers: URLSearchParams[] = [];
    for (const [at, browser] of browsers.entries()) {
      two.corp.person = atCorp(`ines-${at}`);
      answers.push((await beginLink(two, browser)).answer);
    }
    const replies = await Promise.all(
      browsers.map((browser, at) => finish(browser, answers[at] ?? new URLSearchParams(), at === 0 ? 0 : 1)),
    );
    const told = replies.map(({ status, text }) => `${status} ${text}`).join('\n');
    const winner = replies.findIndex(({ status }) => status === 200);
    expect(
      replies.filter(({ status }) => status === 200),
      told,
    ).to.have.length(1);
    expect(await subsOf('ines'), told).to.deep.equal([`ines-${winner}-1`]);
    const browser = browsers[winner] ?? two.newBrowser();
    for (const replica of [0, 1] as const) expect((await info(browser, replica)).status, told).to.equal(200);
    await hasLinks(browser, 2);
  });
});
