import { SharedBound } from '@atrium/http/limits/shared-bound.ts';
import { expect } from 'chai';

const mebibyte = 1024 * 1024;

describe('a bound that caches share', () => {
  const bound = () => new SharedBound({ maxBytes: 8 * mebibyte, lifetimeMs: 60_000 });
  const value = (bytes: number) => ({ bytes: new Uint8Array(bytes) });

  it('counts the bytes of all caches, and evicts the values that were not read for longest', () => {
    const shared = bound();
    const [users, groups] = [shared.cache(), shared.cache()];
    for (let index = 0; index < 7; index += 1) users.set(`${index}`, value(mebibyte));
    users.get('0');

    for (let index = 0; index < 5; index += 1) groups.set(`${index}`, value(mebibyte));

    expect(shared.size).to.equal(7);
    expect([0, 1, 5, 6].map((index) => users.get(`${index}`) !== undefined)).to.deep.equal([true, false, false, true]);
    expect([0, 4].map((index) => groups.get(`${index}`) !== undefined)).to.deep.equal([true, true]);
  });

  it('counts keys of 1 MiB', () => {
    const shared = bound();
    const cache = shared.cache();

    for (let index = 0; index < 100; index += 1) cache.set(`${index}${'x'.repeat(mebibyte)}`, value(1));

    expect(shared.size).to.be.within(1, 4);
  });

  it('keeps no value that is larger than the bound', () => {
    const cache = bound().cache();

    cache.set('large', value(9 * mebibyte));

    expect(cache.get('large')).to.equal(undefined);
  });

  it('keeps equal keys of two caches apart, and the last value of a key', () => {
    const shared = bound();
    const [users, groups] = [shared.cache(), shared.cache()];
    const [first, last] = [value(1), value(2)];
    users.set('1', first);
    users.set('1', last);

    expect(users.get('1')).to.equal(last);
    expect(groups.get('1')).to.equal(undefined);
  });
});
