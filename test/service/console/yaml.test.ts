import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import { parseJson, stringifyJson } from '../../../web/src/api/json.ts';
import { mistakesIn, parse, stringify, YamlError } from '../../../web/src/editors/yaml.ts';
import { yamlCases, yamlObject, yamlTexts } from '../../support/kubectl-yaml.ts';

/** Texts with duplicate members. kubectl uses the last one; the console refuses them, because they are a mistake. */
const refusedHere = ['value: {a: 1, a: 2}\n', 'a: 1\nvalue: 2\na: 3\n', 'value: {.inf: a}\n'];

function specOf(yaml: string): unknown {
  try {
    const [object] = parse(yamlObject(yaml)) as [{ spec: unknown }];
    return parseJson(stringifyJson(object.spec));
  } catch {
    return 'refused';
  }
}

describe('YAML in the console', () => {
  it('cases/03 reads scalars, anchors, merges, tags and keys as kubectl does, and refuses the same', () => {
    expect(yamlCases.length).to.be.greaterThan(300);
    const differ = yamlCases.filter(([yaml, json]) => {
      const expected = json === null || refusedHere.includes(yaml) ? 'refused' : parseJson(json);
      return !isDeepStrictEqual(specOf(yaml), expected);
    });

    expect(differ).to.deep.equal([]);
  });

  it('cases/14 reads each text as it was written', () => {
    const object = { list: yamlTexts, members: Object.fromEntries(yamlTexts.map((text) => [text, 1])) };

    expect(parse(stringify(object))).to.deep.equal([object]);
  });

  it('cases/14 puts words of YAML 1.1 in quotes', () => {
    expect(stringify({ a: 'yes', b: 'on', d: '1_000', i: 'y', q: '0b101', t: '2026-01-01', s: '1:30', p: 'plain' })).to.equal(
      'a: "yes"\nb: "on"\nd: "1_000"\ni: "y"\nq: "0b101"\nt: "2026-01-01"\ns: "1:30"\np: plain\n',
    );
  });

  it('cases/04 keeps the digits of an int64', () => {
    const text = 'account: 9007199254740993\nmost: 9223372036854775807\n';

    expect(parse(text)).to.deep.equal([{ account: 9_007_199_254_740_993n, most: 9_223_372_036_854_775_807n }]);
    expect(stringify(parse(text)[0])).to.equal(text);
  });

  it('cases/15 reads all documents, and leaves out empty ones', () => {
    expect(parse('---\na: 1\n---\n')).to.deep.equal([{ a: 1 }]);
    expect(parse('---\n# nothing\n---\na: 1\n---\na: 2\n...\n')).to.deep.equal([{ a: 1 }, { a: 2 }]);
    expect(parse('')).to.deep.equal([]);
  });

  it('names the line of a mistake', () => {
    expect(() => parse('a: 1\nb:\n  ~: x\n')).to.throw(YamlError);
    expect(mistakesIn('a: 1\n---\nb:\n  ~: x\nc: !!int yes\nd: [1\n').map(({ line, what }) => [line, what])).to.deep.include.members([
      [4, 'key'],
      [5, 'tag'],
    ]);
  });
});
