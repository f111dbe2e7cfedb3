import { expect } from 'chai';
import { awaitsEmails, membersOf } from '../../../web/src/pages/group/members.ts';

describe('the members of a group in the console', () => {
  const group = (observedGeneration: number | undefined, ...members: { name: string; email: string }[]) => ({
    metadata: { generation: 2 },
    spec: { users: [{ name: 'ada' }, { name: 'bob' }] },
    status: { members, observedGeneration },
  });
  const ada = { name: 'ada', email: 'ada@example.com' };

  it('have the addresses that the controller wrote', () => {
    expect(membersOf(group(2, ada))).to.deep.equal([ada, { name: 'bob', email: '' }]);
  });

  it('are read again until the controller has seen the change', () => {
    for (const observed of [undefined, 1]) expect(awaitsEmails(group(observed, ada)), String(observed)).to.equal(true);
    expect(awaitsEmails({ ...group(2), status: undefined })).to.equal(true);
  });

  it('are not read again for members without a record, or beyond those that the status lists', () => {
    expect(awaitsEmails(group(2, ada, { name: 'bob', email: '' }))).to.equal(false);
    expect(awaitsEmails(group(2, ada))).to.equal(false);
  });

  it('are not read again if no address is missing', () => {
    expect(awaitsEmails(group(1, ada, { name: 'bob', email: 'bob@example.com' }))).to.equal(false);
  });
});
