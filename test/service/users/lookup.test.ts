import { expect } from 'chai';
import { phaseOf } from '../../../src/users/record/conditions.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aUser, nameOf } from './a-user.ts';
import { type Replica, Replicas } from './replicas.ts';

const jane = nameOf('jane@example.com');
const path = '/apis/auth.platform.io/v1/users';

describe('the accounts that a replica knows', () => {
  const replicas = forSuite(() => Replicas.start());
  let replica: Replica;

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
    replica = await replicas.replica();
  });

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

  it('REC-03 are Invalid under another name, name no user, and are never found by the email', async () => {
    await replicas.kubernetes.apply(
      aUser('Jane@example.com', { name: 'stray-b', groups: ['dev'] }),
      aUser('jane@example.com', { name: 'stray-a', is_admin: true }),
    );
    await becomes('stray-a', 'Invalid NotCanonical');
    await becomes('stray-b', 'Invalid NotCanonical');
    expect(replica.accounts.find('jane@example.com')).to.equal(undefined);
    expect(replica.accounts.get('stray-b')).to.deep.include({ subjectName: '', groups: [] });
    expect(replica.accounts.administrators()).to.deep.equal([]);

    await replicas.kubernetes.apply(aUser('JANE@example.com', { subjectName: 'jane@example.com' }));
    await becomes(jane, 'Normal');
    await replicas.kubernetes.apply(aUser('jane@example.com', { name: 'stray-c' }));
    await becomes('stray-c', 'Invalid NotCanonical');
    expect(replica.accounts.find('jane@example.com')?.name).to.equal(jane);
    expect(replica.accounts.ofSubject('jane@example.com')?.name).to.equal(jane);
    await replicas.kubernetes.remove(`${path}/stray-c`);
    await becomes('stray-c', 'none');
    expect(replica.accounts.ofSubject('jane@example.com')?.name).to.equal(jane);
  });

  it('are not found where a record has the name, but not the email', async () => {
    const taken = nameOf('taken@example.com');
    await replicas.kubernetes.apply(aUser('else@example.com', { name: taken }));
    await becomes(taken, 'Invalid NotCanonical');
    expect(replica.accounts.find('taken@example.com')).to.equal(undefined);
  });
});
