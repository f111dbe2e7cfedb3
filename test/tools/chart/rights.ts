import { expect } from 'chai';
import { textOf } from './call-recorder.ts';
import { covers } from './granted.ts';
import type { RecordedAccount } from './recorded-account.ts';

/** One test for each right, so that whatever is missing, or not needed any more, has a name. */
export function itIsGrantedJust(needed: Readonly<Record<string, string>>, account: () => RecordedAccount): void {
  for (const [right, purpose] of Object.entries(needed)) {
    it(`${right}: ${purpose}`, () => {
      const grant = account().granted.find((each) => textOf(each) === right);

      if (grant === undefined) return expect.fail('it is not granted');
      expect(
        account().recorder.needs.some((need) => covers(grant, need)),
        'it was used',
      ).to.equal(true);
    });
  }

  it('are these and no others', () => {
    expect(account().granted.map(textOf)).to.have.members(Object.keys(needed));
  });

  it('are all that it has asked for, the API server says', async () => {
    expect(await account().excess()).to.deep.equal([]);
  });
}
