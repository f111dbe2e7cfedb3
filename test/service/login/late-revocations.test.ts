import { expect } from 'chai';
import { FaultProxy, tellLate } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { nameOf } from '../users/a-user.ts';
import { atCorp, linkedUser, linksOf, send, tokenIn } from './linking.ts';
import { TwoIssuers } from './two-issuers.ts';

const people = ['ada', 'bea', 'cora'] as const;
const emailOf = (name: string) => `${name}@example.com`;

/** The watch of revocations lags behind the watch of records. */
describe('tokens of an account of another issuer, on the replica that was asked to end them', () => {
  /** The answer to a deletion waits for the end of its second. The clock jumps there, so that the wait does not hide the lag. */
  let isSecondOver = false;
  const two = forSuite(() =>
    TwoIssuers.start(
      {},
      {
        emails: people.map(emailOf),
        replicas: 2,
        async between({ url, certificateAuthority, serving }) {
          const faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
          faults.inject(tellLate(300), ({ isWatch, path }) => isWatch && path.endsWith('/revokedtokens'));
          return faults;
        },
        now: () => (isSecondOver ? new Date(Math.floor(Date.now() / 1000) * 1000 + 999) : new Date()),
      },
    ),
  );

  beforeEach(() => {
    isSecondOver = false;
  });

  const linked = async (name: (typeof people)[number]) => {
    two.corp.person = atCorp(name);
    const browser = await linkedUser(two, emailOf(name));
    const { access_token: bearer = '' } = tokenIn((await two.logInAtCorp({ storage: 'local' })).body);
    const [asked = '', other = ''] = two.service.urls;
    const withBearer = async (at: string) => {
      const response = await two.service.request('/api/v2/token/info', { headers: { authorization: `Bearer ${bearer}` } }, at);
      return `${response.status} ${await response.text()}`;
    };
    for (const at of [asked, other])
      await eventually(
        () => withBearer(at),
        (answer) => answer.startsWith('200'),
      );
    isSecondOver = true;
    return { browser, withBearer, asked, other };
  };
  const asAdministrator = async (path: string) => {
    const headers = { authorization: `Bearer ${await two.service.cluster.token('admin')}` };
    const response = await two.service.request(path, { method: 'DELETE', headers });
    expect(response.status, await response.text()).to.equal(204);
  };
  const expectEnded = async ({ withBearer, asked, other }: Awaited<ReturnType<typeof linked>>) => {
    expect(await withBearer(asked)).to.match(/^401/);
    await eventually(
      () => withBearer(other),
      (answer) => answer.startsWith('401'),
    );
  };

  it('are no longer valid when the user has unlinked the account', async () => {
    const user = await linked('ada');
    const [, second] = await linksOf(two, user.browser);
    const { status, text } = await send(two, user.browser, 'DELETE', `/auth/v1/links/${second?.id}`);
    expect(status, text).to.equal(204);
    await expectEnded(user);
  });

  it('are no longer valid when an administrator has removed the accounts from the record', async () => {
    const user = await linked('bea');
    await asAdministrator(`/auth/v1/users/${nameOf(emailOf('bea'))}/subjects`);
    await expectEnded(user);
  });

  it('are no longer valid when an administrator has deleted the user', async () => {
    const user = await linked('cora');
    await asAdministrator(`/auth/v1/users/${nameOf(emailOf('cora'))}`);
    await expectEnded(user);
  });
});
