import { expect } from 'chai';
import { recordName } from '../../../src/users/record/account.ts';
import { expectOK, expectStatus, relyingParty } from '../relying-party/conformance/relying-party.ts';
import { json } from './provider/answers.ts';
import { authorize, Browser, logIn, loginInfoOf, userInfoOf } from './provider/browser.ts';
import type { Misbehaviour } from './provider/misbehaviour.ts';

const distributed = {
  groups: undefined,
  _claim_names: { groups: 'src1' },
  _claim_sources: { src1: { endpoint: 'https://graph.example.com/v1.0/users/x/getMemberObjects' } },
};

describe('groups that an issuer keeps back', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000 } } });
  beforeEach(() => party().provider.become());

  const recordedGroups = async (): Promise<string[]> => {
    const { cluster, provider } = party();
    const { body } = await cluster.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${recordName(String(provider.person.email))}`);
    return (body as { status: { groups: string[] } }).status.groups;
  };
  const told = () => party().service.logLines.filter((line) => line.includes('omitted the groups of a user'));

  for (const [what, misbehaviour] of Object.entries<Misbehaviour>({
    'distributed claims': { idToken: { claims: distributed }, userInfo: { groups: undefined } },
    'the indicator of the id_token flow': { idToken: { claims: { groups: undefined, hasgroups: true } }, userInfo: { groups: undefined } },
  }))
    it(`cases/20 leave the record as it was, and a line in the log for each login: ${what}`, async () => {
      const { provider, service } = party();
      expectOK((await logIn(service)).callback);
      const before = told().length;
      provider.misbehave(misbehaviour);
      const { callback, browser } = await logIn(service);
      expectOK(callback);
      expect(userInfoOf(callback).groups).to.deep.equal([]);
      expect(await recordedGroups()).to.deep.equal(['dev', 'oncall']);
      expectOK(await browser.info('v2'));
      expect(told().slice(before)).to.have.length(1);
      expect(told().at(-1)).to.include(recordName(String(provider.person.email)));
    });

  it('cases/18 leave the record as it was where userinfo refuses', async () => {
    const { provider, service } = party();
    expectOK((await logIn(service)).callback);
    provider.misbehave({ idToken: { claims: { groups: undefined } }, answer: { userinfo: json(403, {}) } });
    expectOK((await logIn(service)).callback);
    expect(await recordedGroups()).to.deep.equal(['dev', 'oncall']);
  });

  it('cases/20 keep no groups back if the issuer reports none', async () => {
    const { provider, service } = party();
    expectOK((await logIn(service)).callback);
    const before = told().length;
    provider.misbehave({ idToken: { claims: { groups: [] } } });
    expectOK((await logIn(service)).callback);
    expect(await recordedGroups()).to.deep.equal([]);
    expect(told().slice(before)).to.deep.equal([]);
  });
});

describe('the callback of the id_token flow', () => {
  const party = relyingParty({ config: { login: { perMinute: 1_000_000, responseMode: 'id_token' } } });
  beforeEach(() => party().provider.become());

  async function answered() {
    const browser = new Browser(party().service.url);
    const answer = await authorize(loginInfoOf(await browser.login('v2', { token_storage: 'cookie' })).auth_url);
    answer.delete('code');
    return { browser, answer };
  }

  for (const version of ['v1', 'v2'] as const)
    it(`cases/id-token takes exactly the parameters that the issuer sent, state and id_token: ${version}`, async () => {
      const { browser, answer } = await answered();
      expect([...answer.keys()].sort()).to.deep.equal(['id_token', 'state']);
      const callback = await browser.callback(version, answer);
      expectOK(callback);
      expect(userInfoOf(await browser.info(version)).name).to.equal(party().provider.person.email);
    });

  it('cases/id-token requires a code if there is no id_token', async () => {
    const { browser, answer } = await answered();
    answer.delete('id_token');
    expectStatus(await browser.callback('v2', answer), 400, 'code');
  });

  it('cases/id-token refuses an id_token of another flow', async () => {
    const { browser, answer } = await answered();
    answer.set('id_token', party().provider.idToken({ claims: { nonce: 'another' } }));
    expectStatus(await browser.callback('v2', answer), 401, 'id_token');
  });
});
