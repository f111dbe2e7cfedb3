/** Ends of access for other reasons than its time while no replica leads, as after a leader was killed. */
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { holdLeases } from '../../support/held-leases.ts';
import { startServer } from '../../support/server.ts';
import { aNamespace, applyKnown, Bindings, bindingsPath } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { AccessRequests, aPolicy, mergePatch, policiesPath, type Request, user } from './support.ts';

const usersPath = '/apis/auth.platform.io/v1/users';

/** Requesters, each with a policy of the same name. */
const requesters = ['alice', 'carol', 'viewer', 'manager', 'nobody'] as const satisfies readonly Person[];

for (const leases of [['atrium-access-requests'], ['atrium-access-requests', 'atrium-user-bindings']])
  describe(`access while no replica leads ${leases.join(' and ')}`, () => {
    const server = forSuite(() => startServer({ config: { features: { accessRequests: true } } }));
    const given = new Map<Person, Request>();
    let access: AccessRequests;
    let bindings: Bindings;
    let at = '';
    let stopHolding = async () => {};

    const requestOf = (person: Person): Request => {
      const found = given.get(person);
      if (found === undefined) throw new Error(`${person} has no request`);
      return found;
    };
    const bindingOf = (person: Person) => `ar-${requestOf(person).metadata.uid}`;
    const boundOf = (person: Person) => bindings.bound(bindingOf(person));

    before(async () => {
      access = new AccessRequests(server);
      bindings = new Bindings(server.kubernetes);
      await server.kubernetes.apply(aNamespace('shop'));
      await applyKnown(server, ...[...requesters, 'bob'].map((name) => aUser(`${name}@example.com`, { subjectName: name })));
      await access.apply(...requesters.map((name) => aPolicy(name, { subjects: [user(name)], approvers: [user('bob')] })));
      for (const name of requesters) {
        const request = await access.asked({ as: name }, { policy: name });
        expect((await access.decide({ as: 'bob' }, request)).body.status).to.include({ phase: 'Active' });
        given.set(name, request);
        await bindings.untilBound(bindingOf(name), [`User ${name} in shop`]);
      }
      await server.stopFirst();
      stopHolding = await holdLeases(server.kubernetes, ...leases);
      at = (await server.replica()).url;
    });
    after(() => stopHolding());

    const changes: Readonly<Record<string, { person: Person; change: () => Promise<unknown> }>> = {
      PolicyChanged: { person: 'alice', change: () => server.kubernetes.remove(`${policiesPath}/alice`) },
      UserGone: { person: 'carol', change: () => server.kubernetes.remove(`${usersPath}/${nameOf('carol@example.com')}`) },
      UserDisabled: {
        person: 'viewer',
        change: () =>
          server.kubernetes.call('PATCH', `${usersPath}/${nameOf('viewer@example.com')}`, { spec: { is_disabled: true } }, mergePatch),
      },
    };
    for (const [reason, { person, change }] of Object.entries(changes))
      it(`ends at every replica (${reason}), and the request waits for a leader`, async () => {
        await change();
        await bindings.untilBound(bindingOf(person), []);

        expect((await access.stored(requestOf(person))).status).to.include({ phase: 'Active' });
        // A leader of UserBindings removes the role of a deleted user by itself, before the request is found over.
        await eventually(
          () => server.kubernetes.call('GET', `${bindingsPath}/${bindingOf(person)}`),
          ({ status, body }) => status === 404 || JSON.stringify(body).includes('"deletionTimestamp"'),
        );
        expect(await boundOf('manager')).to.deep.equal(['User manager in shop']);
      });

    it('ends by its user, whose answer needs no leader', async () => {
      const ended = await access.end({ as: 'nobody', at }, requestOf('nobody'));

      expect(ended.status, JSON.stringify(ended.body)).to.equal(200);
      expect(ended.body.status).to.include({ phase: 'Ended', reason: 'EndedByUser' });
      expect(await boundOf('nobody')).to.deep.equal([]);
      expect((await access.end({ as: 'nobody', at }, requestOf('nobody'))).status).to.equal(200);
    });

    it('is told with its reason by the next leader', async () => {
      await stopHolding();
      for (const [reason, { person }] of Object.entries(changes))
        expect((await access.untilPhase(requestOf(person), 'Ended')).status)
          .to.include({ reason })
          .and.to.have.property('ended');
      for (const { person } of Object.values(changes))
        await eventually(
          () => server.kubernetes.call('GET', `${bindingsPath}/${bindingOf(person)}`),
          ({ status }) => status === 404,
        );
      expect((await access.stored(requestOf('manager'))).status).to.include({ phase: 'Active' });
      expect(await boundOf('manager')).to.deep.equal(['User manager in shop']);
    });
  });
