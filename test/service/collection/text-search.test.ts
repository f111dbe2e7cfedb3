/** A search ignores letter case in every language, and forms of a letter that look alike. Service and console share the rule. */
import { folded, wantedText } from '@atrium/objects/folded.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { userListSchema } from '../../../src/users/record/schema.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';
import { aUser } from '../users/a-user.ts';
import { untilSettled } from '../users/settled.ts';

/** Display names, with texts that find them. */
const finds: [name: string, ...texts: string[]][] = [
  ['Jane Doe', 'JANE DOE', ' jane ', 'jane  doe', '\tjane doe\n', 'jane\u00a0doe', 'ｊａｎｅ', 'ane d', 'jane\u200b doe'],
  ['Anna  Two Blanks', 'anna two', 'anna  two'],
  ['Straße', 'STRASSE', 'strasse', 'STRAßE', 'straẞe', 'raß', 'ss'],
  ['GROẞ', 'groß', 'GROSS'],
  ['İstanbul', 'istanbul', 'ISTANBUL', 'İSTANBUL', 'i\u0307stanbul'],
  ['DIŞ IŞIK', 'dış ışık', 'diş işik', 'DIŞ'],
  ['ΟΔΥΣΣΕΥΣ', 'οδυσσευς', 'οδυσσευσ', 'Οδυσσεύς'.normalize('NFD').replaceAll(/\p{M}/gu, '')],
  ['σοφός', 'ΣΟΦΌΣ', 'σοφόσ'],
  ['ЖАННА', 'жанна', 'Жан'],
  ['Ћирић', 'ћирић', 'ЋИРИЋ'],
  ['Դավիթ', 'դավիթ', 'ԴԱՎԻԹ'],
  ['ᏣᎳᎩ', 'ꮳꮃꭹ'],
  ['Zoë', 'ZOË', 'zoe\u0308', 'ZOE\u0308'],
  ['Jose\u0301', 'josé', 'JOSÉ'],
  ['Å Ångström', 'A\u030angström', '\u212bngström'],
  ['Nguyễn', 'NGUYỄN', 'nguye\u0302\u0303n', 'Nguyễn'.normalize('NFD')],
  ['ǅ Ǆ', 'ǆ', 'dž'],
  ['ﬁnance', 'finance', 'FINANCE'],
  ['Ｔｏｋｙｏ １２３', 'tokyo 123', 'ＴＯＫＹＯ'],
  ['ﾃｽﾄ', 'テスト'],
  ['が', 'か\u3099'],
  ['한국', '한국'.normalize('NFD')],
  ['田中 太郎', '田中　太郎', '太郎'],
  ['ŉgaba', 'ʼNGABA'],
  ['ΐota', 'ΐOTA'.normalize('NFD')],
  ['soft\u00adhyphen', 'softhyphen'],
  ['𐐔𐐇', '𐐼𐐯'],
  ['O’Brien "Bob" (ops)', 'o’brien', '"bob"', '(OPS)'],
];
/** Texts that find none of them: accents and letters stay apart. */
const misses = ['jana', 'zoee', 'jose x', 'ü', 'jane.doe', 'janedoe', 'ö strasse'];

const found = z.object({ kinds: z.array(z.object({ items: z.array(z.object({ title: z.string().optional() })) })) });

describe('texts that a search finds', () => {
  const server = forSuite(() => startServer());
  const emailOf = (index: number) => `user-${index}@example.com`;
  const read = async (path: string, query: Record<string, string>) => {
    const response = await server.request(`${path}?${new URLSearchParams(query)}`, { as: 'viewer' });
    expect(response.status).to.equal(200);
    return response.json();
  };
  const listed = async (query: Record<string, string>) =>
    userListSchema.parse(await read('/auth/v2/users', query)).items.map(({ spec }) => spec.username);
  const searched = async (q: string) =>
    found
      .parse(await read('/api/v2/search', { q, kinds: 'users.auth.platform.io' }))
      .kinds.flatMap(({ items }) => items.map(({ title }) => title));

  before(async () => {
    await grant(server.kubernetes, 'viewer', 'atrium-users-view');
    await server.kubernetes.apply(...finds.map(([username], index) => aUser(emailOf(index), { username })));
    await untilSettled(
      server,
      finds.map((_, index) => emailOf(index)),
    );
  });

  for (const [name, ...texts] of finds)
    for (const text of texts)
      it(`include ${JSON.stringify(name)} by ${JSON.stringify(text)}`, async () => {
        expect(await listed({ search: text })).to.include(name);
        expect(await listed({ filterBy: `username,${text}` })).to.include(name);
        expect(await searched(text)).to.include(name);
        expect(folded(name)).to.include(wantedText(text));
      });

  for (const text of misses)
    it(`are not found by ${JSON.stringify(text)}`, async () => {
      expect(await listed({ search: text })).to.deep.equal([]);
      expect(await searched(text)).to.deep.equal([]);
    });

  it('are not found by blanks alone', async () => {
    expect(await listed({ search: ' \u00a0\t' })).to.have.lengthOf(finds.length);
  });
});
