import { expect } from 'chai';
import { FaultProxy, loseAnswer, type ProxiedRequest, refuse } from '../../cluster/faults/fault-proxy.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { nameOf } from '../users/a-user.ts';
import { atCorp, linkedUser, linksOf, recordOf, send } from './linking.ts';
import { TwoIssuers } from './two-issuers.ts';

const emailOf = (name: string) => `${name}@example.com`;

const interruptions = [
  {
    person: 'ada',
    title: 'before the sessions of the account are deleted',
    fault: refuse(500, 'InternalError'),
    matches: ({ method, path }: ProxiedRequest) => method === 'DELETE' && path.includes('/sessions/'),
  },
  {
    person: 'bea',
    title: 'while the record loses the account, whose answer is lost',
    fault: loseAnswer,
    matches: ({ method, path }: ProxiedRequest) => method === 'PATCH' && path.endsWith(`/users/${nameOf(emailOf('bea'))}/status`),
  },
] as const;

describe('a request to unlink an account that is interrupted', () => {
  let faults: FaultProxy;
  const two = forSuite(() =>
    TwoIssuers.start(
      {},
      {
        emails: interruptions.map(({ person }) => emailOf(person)),
        async between({ url, certificateAuthority, serving }) {
          faults = await FaultProxy.start({ target: url, certificateAuthority, serving });
          return faults;
        },
      },
    ),
  );
  const sessionsAtCorp = async (person: string) => {
    const { body } = await two.service.admin.call('GET', '/apis/auth.platform.io/v1/namespaces/atrium-system/sessions');
    const { items } = body as { items: { spec: { subjectName: string } }[] };
    return items.filter(({ spec }) => spec.subjectName === `corp:${person}@corp.example`);
  };

  for (const { person, title, fault, matches } of interruptions)
    it(`leaves no session of the account behind: ${title}`, async () => {
      two.corp.person = atCorp(person);
      const browser = await linkedUser(two, emailOf(person));
      const there = await two.logInAtCorp();
      expect(await sessionsAtCorp(person)).to.have.length(1);
      const [, second] = await linksOf(two, browser);
      const unlink = () => send(two, browser, 'DELETE', `/auth/v1/links/${second?.id}`);
      two.corp.forgetRequests();

      faults.inject(fault, matches, 1);
      const interrupted = await unlink();
      expect(interrupted.status, interrupted.text).to.equal(503);
      const retried = await eventually(unlink, ({ status }) => status !== 503);

      expect(retried.status, retried.text).to.be.oneOf([204, 404]);
      expect(await sessionsAtCorp(person)).to.deep.equal([]);
      expect(two.corp.revocationsOf(`${person}-1`)).to.have.length(1);
      expect((await recordOf(two, nameOf(emailOf(person)))).status).not.to.have.property('subjects');
      expect((await two.get(there.browser, '/api/v2/token/info')).status).to.equal(401);
    });
});
