import { expect } from 'chai';
import { passwordProblems } from '../../../src/users/passwords/policy.ts';
import { makePassword } from '../../../web/src/api/new-password.ts';

describe('a password that the console makes', () => {
  it('is taken by the strictest policy, whatever the chance', async () => {
    const rules = { minLength: 20, maxLength: 128, classes: ['letter', 'digit', 'special'] } as const;
    const user = { email: 'jane@example.com', username: 'Jane Doe' };
    // Without a rule, 23 of them would have no digit.
    for (let made = 0; made < 500; made += 1)
      expect(await passwordProblems(makePassword(), user, { ...rules, classes: [...rules.classes] })).to.deep.equal([]);
  });
});
