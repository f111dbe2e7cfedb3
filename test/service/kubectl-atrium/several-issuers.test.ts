import { expect } from 'chai';
import { fetch } from 'undici';
import { parse } from 'yaml';
import { forSuite } from '../../support/for-suite.ts';
import { claimsOf } from '../identity/relying-party.ts';
import { jane, TwoIssuers } from '../login/two-issuers.ts';
import { credentialOf, Machine } from './machine.ts';

const kim = { sub: 'kim-1', email: 'kim@corp.example', email_verified: true, name: 'Kim', groups: ['dev'] };

describe('kubectl-atrium with the kubeconfigs of several issuers', () => {
  const two = forSuite(() => TwoIssuers.start({ cli: { clientID: 'console' } }, { credentials: 'passthrough' }));
  const machine = forSuite(
    () => Machine.create(),
    (one) => one.remove(),
  );

  before(async () => {
    two.corp.person = kim;
    const prefixes = { usernamePrefix: 'corp:', groupsPrefix: 'corp:' };
    await two.service.cluster.trustIssuer({ url: two.corp.issuer, audiences: [two.corp.clientID], ...prefixes });
  });

  it('logs in at the issuer of each, and keeps both logins', async () => {
    const { service, corp } = two;
    const argumentsFor = async (browser: Awaited<ReturnType<TwoIssuers['logInHere']>>['browser']) => {
      const file = parse((await two.get(browser, '/auth/v1/kubeconfig')).text) as { users: { user: { exec: { args: string[] } } }[] };
      return file.users[0]?.user.exec.args.slice(1) ?? [];
    };
    const here = await argumentsFor((await two.logInHere()).browser);
    const there = await argumentsFor((await two.logInAtCorp()).browser);
    const person = { email: jane, password: 'correct horse battery staple' };
    expect(await machine.logIn(here, { person, dispatcher: service.dispatcher })).to.include({ code: 0 });
    expect(await machine.logIn(there)).to.include({ code: 0 });

    for (const [args, iss, name] of [
      [here, `${service.url}/identity`, jane],
      [there, corp.issuer, 'corp:kim@corp.example'],
    ] as const) {
      const { token } = credentialOf(await machine.token([...args], { interactive: false }));
      expect(claimsOf(token)).to.include({ iss });
      const url = `${service.cluster.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
      const answer = await fetch(url, { method: 'POST', headers, body, dispatcher: service.dispatcher });
      expect(await answer.json()).to.have.nested.property('status.userInfo.username', name);
    }
  });
});
