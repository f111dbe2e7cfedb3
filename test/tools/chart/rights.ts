import { expect } from 'chai';
import { textOf } from './call-recorder.ts';
import { covers } from './granted.ts';
import type { RecordedAccount } from './recorded-account.ts';

/** Defines a test for each right, so that a missing or unused right is named. */
export function itIsGrantedJust(needed: Readonly<Record<string, string>>, account: () => RecordedAccount): void {
  for (const [right, purpose] of Object.entries(needed)) {
    it(`include ${right}: ${purpose}`, () => {
      const grant = account().granted.find((each) => textOf(each) === right);

      if (grant === undefined) return expect.fail('it is not granted');
      expect(
        account().recorder.needs.some((need) => covers(grant, need)),
        'it was used',
      ).to.equal(true);
    });
  }

  it('are exactly the listed ones', () => {
    expect(account().granted.map(textOf)).to.have.members(Object.keys(needed));
  });

  it('allow all recorded calls, by access reviews of the API server', async () => {
    expect(await account().excess()).to.deep.equal([]);
  });
}
