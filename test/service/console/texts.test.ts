import { readFileSync } from 'node:fs';
import { builtinTypes } from '@atrium/embedded-cluster/builtins.ts';
import { expect } from 'chai';
import { z } from 'zod';
import { auditEvents } from '../../../src/audit/audit-events.ts';
import { knownColumns } from '../../../src/listed-resources/known-columns.ts';

const texts = (language: string) =>
  z
    .record(z.string(), z.string())
    .parse(JSON.parse(readFileSync(new URL(`../../../web/src/text/${language}.json`, import.meta.url), 'utf8')));

const placeholders = (text: string) => [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name).sort();

describe('the texts of the console', () => {
  const english = texts('en');

  for (const language of ['de', 'zh']) {
    it(`are all there in ${language}, with the same values in them`, () => {
      const plurals = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
      const wanted = Object.keys(english).filter((key) => !key.endsWith('_one') || plurals.includes('one'));
      const translated = texts(language);

      expect(Object.keys(translated)).to.have.members(wanted);
      for (const key of wanted) {
        expect(translated[key], key).not.to.equal('');
        // Singular forms such as "One user" need no number.
        if (!key.endsWith('_one')) expect(placeholders(translated[key] ?? ''), key).to.deep.equal(placeholders(english[key] ?? ''));
      }
    });
  }

  it('name each event in the history of a user', () => {
    const events = Object.entries(auditEvents).flatMap(([name, event]) => ('isEvent' in event ? [`history.${name}`] : []));

    expect(events.filter((key) => !(key in english))).to.deep.equal([]);
  });

  it('name each column of built-in kinds', () => {
    const types = builtinTypes({});
    const titles = types.flatMap((type) => [...type.columns, ...knownColumns(type)].map(({ name }) => name));
    const keys = titles.map((title) => `column.${title.replaceAll(/[^A-Za-z]/g, '').toLowerCase()}`);

    expect(keys.filter((key) => !(key in english))).to.deep.equal([]);
  });
});
