import { KeySeal } from '@atrium/http/seal.ts';
import { expect } from 'chai';

const key = (kid: string, byte: number) => ({ kid, secret: new Uint8Array(32).fill(byte) });

describe('a seal', () => {
  const seal = new KeySeal(key('one', 1), 'test');
  const text = 'päge 2 of ∞';

  it('opens the values that it has sealed', () => {
    expect(seal.open(seal.seal(text))).to.equal(text);
    expect(seal.open(seal.seal(''))).to.equal('');
  });

  it('opens nothing else: no other key, no other name of a key, no other purpose', () => {
    const sealed = seal.seal(text);

    expect(new KeySeal(key('one', 2), 'test').open(sealed)).to.equal(undefined);
    expect(new KeySeal(key('two', 1), 'test').open(sealed)).to.equal(undefined);
    expect(new KeySeal(key('two', 1), 'test').open(sealed.replace('one', 'two'))).to.equal(undefined);
    expect(new KeySeal(key('one', 1), 'other').open(sealed)).to.equal(undefined);
  });

  it('opens nothing that has changed, at whatever place', () => {
    const sealed = seal.seal(text);

    for (let at = 0; at < sealed.length; at += 1) {
      for (const character of ['A', '-', '.', '=', ' ']) {
        if (sealed[at] === character) continue;
        const changed = sealed.slice(0, at) + character + sealed.slice(at + 1);
        expect(seal.open(changed), `${character} at ${at}`).to.equal(undefined);
      }
      expect(seal.open(sealed.slice(0, at)), `cut at ${at}`).to.equal(undefined);
    }
    for (const more of ['A', '=', '.', ' ', `.${sealed}`]) expect(seal.open(sealed + more), more).to.equal(undefined);
  });
});
