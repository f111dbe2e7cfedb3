import { expect } from 'chai';
import { recordName } from '../../../src/users/record/account.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { type Browser, logIn, userInfoOf } from './provider/browser.ts';

const person = (name: string, differing: Record<string, unknown>) => ({
  sub: `sub-of-${name}`,
  email: `${name}@example.com`,
  email_verified: true,
  name,
  ...differing,
});
const unusable = [' dev', 'dev ', '\tdev', '', 'a\nb', 'x\u0085', 'x\ud800', '\u00a0dev', 'x'.repeat(254)];

/** A binding counts a moment after the cluster has it. */
const untilMayListPods = (browser: Browser) =>
  eventually(
    () => mayListPods(browser),
    (isAllowed) => isAllowed,
  );

async function mayListPods(browser: Browser): Promise<boolean> {
  const reply = await browser.request('/auth/v1/selfsubjectaccessreviews', {
    method: 'POST',
    body: JSON.stringify({ spec: { resourceAttributes: { verb: 'list', resource: 'pods', namespace: 'default' } } }),
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
  });
  expect(reply.status, reply.text).to.equal(201);
  return (reply.body as { status: { allowed: boolean } }).status.allowed;
}

describe('groups that an issuer tells', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 } } });

  before(() => party().cluster.kubernetes.apply(clusterRoleBinding('last-view', 'view', { kind: 'Group', name: 'last' })));

  const recordedGroups = async (email: string): Promise<string[]> => {
    const { body } = await party().cluster.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${recordName(email)}`);
    return (body as { status: { groups: string[] } }).status.groups;
  };
  const logged = (text: string): Record<string, unknown>[] =>
    party()
      .service.logLines.map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => String(msg).includes(text));

  it('TOK-10 lock no user out by a name that no header carries: it is dropped, with a line in the log', async () => {
    const { provider, service } = party();
    provider.person = person('edge', { groups: [...unusable, 'last'] });
    const { browser, callback } = await logIn(service);
    expectOK(callback);
    expect(userInfoOf(callback).groups).to.deep.equal(['last']);
    await untilMayListPods(browser);
    expect(userInfoOf(await browser.info('v2')).groups).to.deep.equal(['last']);
    expect(await recordedGroups('edge@example.com')).to.deep.equal(['last']);
    const [line] = logged('groups ignored');
    expect(line).to.deep.include({ user: recordName('edge@example.com'), count: unusable.length });
    expect(line?.groups).to.include.members([' dev', 'dev ']);
  });

  it('TOK-10 act all, however many they are; the record keeps 512, with a line in the log', async () => {
    const { provider, service } = party();
    const groups = [...Array.from({ length: 699 }, (_, index) => `group-${index}`), 'last'];
    provider.person = person('many', { groups });
    const { browser, callback } = await logIn(service);
    expectOK(callback);
    expect(userInfoOf(callback).groups).to.have.length(700);
    await untilMayListPods(browser);
    expect(await recordedGroups('many@example.com')).to.have.length(512);
    expect(logged('keep 512')).to.have.length(1);
    expect(logged('keep 512')[0]).to.deep.include({ user: recordName('many@example.com'), groups: 700 });
  });

  it('AUZ-06 make no user a member of a group that the cluster keeps for itself', async () => {
    const { cluster, provider, service } = party();
    const email = 'climber@example.com';
    await cluster.kubernetes.apply(
      clusterRoleBinding('kubeadm:cluster-admins', 'cluster-admin', { kind: 'Group', name: 'kubeadm:cluster-admins' }),
    );
    provider.person = person('climber', { groups: ['kubeadm:cluster-admins', 'system:masters', 'dev', 'org:kubeadm:team'] });

    const { browser, callback } = await logIn(service);

    expectOK(callback);
    expect(userInfoOf(callback).groups).to.deep.equal(['dev', 'org:kubeadm:team']);
    expect(await mayListPods(browser)).to.equal(false);
    expect(userInfoOf(await browser.info('v2')).groups).to.deep.equal(['dev', 'org:kubeadm:team']);
    expect(await recordedGroups(email)).to.deep.equal(['dev', 'org:kubeadm:team']);
    const line = logged('groups ignored').find(({ user }) => user === recordName(email));
    expect(line?.groups).to.deep.equal(['kubeadm:cluster-admins', 'system:masters']);
    // A record as an earlier release, or a restored backup, has it.
    const path = `/apis/auth.platform.io/v1/users/${recordName(email)}/status`;
    const status = { groups: ['kubeadm:cluster-admins', 'system:masters', 'dev'] };
    await cluster.kubernetes.call('PATCH', path, { status }, { 'content-type': 'application/merge-patch+json' });
    const made = await browser.request('/auth/v1/accesstoken', {
      method: 'POST',
      body: JSON.stringify({ description: 'ci' }),
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    });
    const { token } = made.body as { token: string };
    await eventually(
      async () => userInfoOf(await browser.info('v2', token)).groups,
      (groups) => !groups.includes('org:kubeadm:team'),
    );
    expect(userInfoOf(await browser.info('v2', token)).groups).to.deep.equal(['dev']);
  });

  it('TOK-10 are kept from the login of a user name or subject that no header carries', async () => {
    const { provider, service } = party();
    provider.person = { ...person('odd', {}), sub: 'odd ' };
    const { callback } = await logIn(service);
    expectStatus(callback, 401);
  });
});
