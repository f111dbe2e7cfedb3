import { AlikeTexts } from '@atrium/lists/alike-texts.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { expect } from 'chai';
import { collectedMemory } from '../../support/collected-memory.ts';
import { randomNumbers } from '../../support/random-numbers.ts';
import { aStoredUser } from '../users/a-user.ts';

/** Returns a random JSON value, with texts that need escapes or look like members, and unique ones. */
function randomValue(random: () => number, depth = 0): unknown {
  const below = (bound: number) => Math.floor(random() * bound);
  const scalars = ['', 'Ann', '"', '\\', '":"', 'Zoë', '名前', '\0', '\u2028', `own ${below(1e9)}`, below(1e6), -0.5, true, null];
  const kind = below(depth < 3 ? 6 : 4);
  if (kind < 4) return scalars[below(scalars.length)];
  const members = Array.from({ length: below(5) }, () => randomValue(random, depth + 1));
  return kind === 4
    ? members
    : Object.fromEntries(members.map((member, index) => [['a', 'b":', 'c', '"d', ''][(index + below(2)) % 5], member]));
}

describe('texts that are alike', () => {
  for (const seed of [1, 2, 3]) {
    it(`are given back as they were, whatever is in them: seed ${seed}`, () => {
      const random = randomNumbers(seed);
      const texts = Array.from({ length: 5_000 }, () => JSON.stringify(randomValue(random)));
      const alike = new AlikeTexts();

      const kept = texts.map((text) => alike.keep(text));

      expect(kept.map(String)).to.deep.equal(texts);
    });
  }

  it('are given back where they differ in one part only, or in none', () => {
    const alike = new AlikeTexts();
    const texts = ['{"a":"1"}', '{"a":"1"}', '{"a":"2"}', '{"a":"1"}', '{"b":"1"}', '{"a":"1","b":[]}', '{"a":"2","b":[]}', '""', '"x"'];

    expect(texts.map((text) => String(alike.keep(text)))).to.deep.equal(texts);
  });

  it('take a third of the memory that they would take whole', () => {
    const types = ['Ready', 'Enabled', 'Unlocked', 'SourceFound', 'PasswordSet', 'Canonical'];
    const conditions = types.map((type) => ({ type, status: 'True', reason: 'AsExpected', message: '' }));
    const textOf = (index: number) => {
      const user = aStoredUser(`person-${index}@example.com`, {
        groups: ['team', `team-${index % 50}`],
        lastLoginTime: `2026-01-0${index % 9}`,
      });
      const metadata = { ...user.metadata, resourceVersion: `${index}` };
      return JSON.stringify({ ...user, metadata, status: { ...partsOf(user).status, conditions } });
    };
    const indices = Array.from({ length: 2_000 }, (_, index) => index);
    const alike = new AlikeTexts();
    const before = collectedMemory().heapUsed;

    const kept = indices.map((index) => alike.keep(textOf(index)));

    const grown = collectedMemory().heapUsed - before;
    const texts = indices.map(textOf);
    expect(grown).to.be.below(texts.join('').length / 3);
    expect(kept.map(String)).to.deep.equal(texts);
  });

  it('leave nothing behind where they are long, or have very many parts', () => {
    const alike = new AlikeTexts();
    const before = collectedMemory().heapUsed;

    for (let turn = 0; turn < 64; turn += 1)
      for (const annotation of ['"'.repeat(2_000), 'x'.repeat(100_000)]) {
        const text = JSON.stringify({ names: Array(turn).fill('a'), annotation });
        expect(String(alike.keep(text))).to.equal(text);
      }

    expect(collectedMemory().heapUsed - before).to.be.below(1024 * 1024);
  });
});
