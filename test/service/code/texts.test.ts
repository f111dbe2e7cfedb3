import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { z } from 'zod';

const read = (language: string) => readFileSync(new URL(`../../../src/texts/${language}.json`, import.meta.url), 'utf8');
const texts = (language: string) => z.record(z.string(), z.string().min(1)).parse(JSON.parse(read(language)));
const placeholders = (text: string) => [...new Set(text.match(/\{\{\w+\}\}/g))].sort();

describe('texts of login pages and mails', () => {
  const english = texts('en');

  for (const language of ['en', 'de', 'zh']) {
    it(`have the keys of English in ${language}, in order, with the same placeholders`, () => {
      const translated = texts(language);

      expect(Object.keys(translated)).to.deep.equal(Object.keys(english).sort());
      for (const [key, text] of Object.entries(translated)) expect(placeholders(text), key).to.deep.equal(placeholders(english[key] ?? ''));
    });
  }

  it('share no key with the console, so that one file of a language has the texts of both', () => {
    const console = JSON.parse(readFileSync(new URL('../../../web/src/text/en.json', import.meta.url), 'utf8'));

    expect(Object.keys(english).filter((key) => key in console)).to.deep.equal([]);
  });
});
