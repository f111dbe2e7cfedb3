/** Translations: a word a thing, and no English where a language has a word of its own (docs/translations.md). */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { z } from 'zod';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const textsOf = (language: string): Record<string, string> =>
  Object.assign(
    {},
    ...['web/src/text', 'src/texts'].map((folder) =>
      z.record(z.string(), z.string()).parse(JSON.parse(read(`${folder}/${language}.json`))),
    ),
  );

const page = read('docs/translations.md');
const sectionOf = (heading: string): string => page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
const rowsOf = (heading: string): string[][] =>
  sectionOf(heading)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
const list = (cell: string) => cell.split(/[,;] /).filter((word) => word !== '');

/** Words of the block after an introduction. */
const wordsAfter = (heading: string, introduction: string): string[] =>
  (sectionOf(heading).split(introduction)[1]?.split('```text\n')[1]?.split('\n```')[0] ?? '').split(/,\s/);

const languages = ['de', 'zh'] as const;
const english = textsOf('en');
const withoutValues = (text: string) => text.replaceAll(/\{\{\w+\}\}/g, ' ');

/** Words of a language for an English term, and those that it must not have. */
const glossary = languages.map((language, index) => ({
  language,
  rows: rowsOf('Glossary').map((cells) => {
    const [, words = '', refused = ''] = /^([^(]*)(?:\((.*)\))?$/.exec(cells[index + 1] ?? '') ?? [];
    const terms = list(cells[0] ?? '');
    return { term: new RegExp(`\\b(?:${terms.join('|')})\\b(?!\\.js)`, 'i'), words: list(words.trim()), refused: list(refused) };
  }),
}));

/** Names of kinds, fields and settings, acronyms, and options of a command. */
const isName = (token: string) => /[a-z][A-Z]|^[A-Z]{2,}s?$|\w[./=*]\w|^-/.test(token);

const latinWordsOf = (text: string): string[] =>
  withoutValues(text)
    .split(/[^\p{Script=Latin}\d./=*-]+/u)
    .map((token) => token.replace(/\.$/, ''))
    .filter((token) => !isName(token))
    .flatMap((token) => token.match(/\p{Script=Latin}{2,}/gu) ?? []);

describe('translations', () => {
  for (const { language, rows } of glossary) {
    const texts = Object.entries(textsOf(language));

    it(`name each thing by the word of the glossary in ${language}`, () => {
      const wrong = texts.flatMap(([key, text]) => {
        const [own, original] = [withoutValues(text).toLowerCase(), withoutValues(english[key] ?? '')];
        return rows
          .filter(({ term, words }) => term.test(original) && !words.some((word) => own.includes(word.toLowerCase())))
          .map(({ words }) => `${key}: ${words} is not in “${text}”`);
      });

      expect(wrong).to.deep.equal([]);
    });

    it(`have no word that the glossary replaces in ${language}`, () => {
      const refused = rows.flatMap((row) => row.refused);
      const wrong = texts.flatMap(([key, text]) => refused.filter((word) => text.includes(word)).map((word) => `${key}: ${word}`));

      expect(wrong).to.deep.equal([]);
    });
  }

  for (const language of languages)
    it(`are the same for the same text in ${language}`, () => {
      const texts = textsOf(language);
      const ambiguous = wordsAfter('Same text, same translation', 'Texts that are equal');
      const byText = Map.groupBy(Object.keys(texts), (key) => english[key] ?? '');
      const wrong = [...byText].filter(([text, keys]) => !ambiguous.includes(text) && new Set(keys.map((key) => texts[key])).size > 1);

      expect(wrong).to.deep.equal([]);
    });

  it('leave no English word in German', () => {
    const allowed = wordsAfter('Words that stay English', 'Names of kinds').map((word) => word.toLowerCase());
    const wrong = Object.entries(textsOf('de')).flatMap(([key, text]) => {
      const original = new Set(latinWordsOf(english[key] ?? '').map((word) => word.toLowerCase()));
      const shared = latinWordsOf(text).filter((word) => original.has(word.toLowerCase()) && !allowed.includes(word.toLowerCase()));
      return shared.map((word) => `${key}: ${word}`);
    });

    expect(wrong).to.deep.equal([]);
  });

  it('leave no English word in Chinese', () => {
    const allowed = wordsAfter('Words that stay English', 'Chinese texts have');
    const found = Object.entries(textsOf('zh')).flatMap(([key, text]) => latinWordsOf(text).map((word) => ({ key, word })));

    expect(found.filter(({ word }) => !allowed.includes(word))).to.deep.equal([]);
  });
});
