import { expect } from 'chai';
import { phaseOf } from '../../src/accounts/phase.ts';
import { eventually } from '../support/cluster-admin.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { type Replica, Replicas } from './replicas.ts';

const jane = nameOf('jane@example.com');
const path = '/apis/auth.platform.io/v1/users';

describe('the accounts that a replica knows', () => {
  let replicas: Replicas;
  let replica: Replica;
  const changed: string[] = [];

  const phase = (name: string) => {
    const account = replica.accounts.get(name);
    return account === undefined ? 'none' : `${phaseOf(account, new Date(), 90).phase} ${phaseOf(account, new Date(), 90).reason}`.trim();
  };
  const becomes = (name: string, wanted: string) =>
    eventually(
      () => phase(name),
      (seen) => seen === wanted,
    );

  before(async () => {
    replicas = await Replicas.start();
    replica = await replicas.replica();
    replica.accounts.onChange((name) => changed.push(name));
  });
  after(() => replicas.stop());

  it('are found by name and by email in any case', async () => {
    await replicas.kubernetes.apply(aUser('Bob@example.com'));
    await becomes(nameOf('bob@example.com'), 'Normal');

    expect(replica.accounts.find('bOB@EXAMPLE.com')).to.include({
      email: 'Bob@example.com',
      name: nameOf('bob@example.com'),
      isCanonical: true,
    });
    expect(replica.accounts.find('nobody@example.com')).to.equal(undefined);
    expect(replica.accounts.find('no login')).to.equal(undefined);
  });

  it('are Invalid under another name as long as somebody has the email under the rule’s, and say so when that changes', async () => {
    await replicas.kubernetes.apply(aUser('Jane@example.com', { name: 'stray-b' }), aUser('jane@example.com', { name: 'stray-a' }));
    await becomes('stray-a', 'Normal');
    await becomes('stray-b', 'Normal');
    expect(replica.accounts.find('jane@example.com')?.name).to.equal('stray-a');

    changed.length = 0;
    await replicas.kubernetes.apply(aUser('JANE@example.com'));
    await becomes('stray-a', 'Invalid DuplicateEmail');
    expect([phase('stray-b'), phase(jane)]).to.deep.equal(['Invalid DuplicateEmail', 'Normal']);
    expect(replica.accounts.find('jane@example.com')?.name).to.equal(jane);
    expect(changed).to.include.members(['stray-a', 'stray-b', jane]);

    changed.length = 0;
    await replicas.kubernetes.remove(`${path}/${jane}`);
    await becomes('stray-a', 'Normal');
    expect(changed).to.include.members(['stray-a', 'stray-b', jane]);

    await replicas.kubernetes.remove(`${path}/stray-a`);
    await becomes('stray-a', 'none');
    expect(replica.accounts.find('jane@example.com')?.name).to.equal('stray-b');
  });

  it('are no duplicates of a record that has the name, but not the email', async () => {
    const taken = nameOf('taken@example.com');
    await replicas.kubernetes.apply(aUser('taken@example.com', { name: 'stray-c' }), aUser('else@example.com', { name: taken }));
    await becomes(taken, 'Normal');

    expect(phase('stray-c')).to.equal('Normal');
    expect(replica.accounts.find('taken@example.com')?.name).to.equal('stray-c');
  });
});
