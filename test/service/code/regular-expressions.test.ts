import { globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tokenizer } from 'acorn';
import { expect } from 'chai';
import { check } from 'recheck';

interface Expression {
  file: string;
  pattern: string;
  flags: string;
}

/** Every regular expression that is written as a literal. */
function expressionsOf(file: string): Expression[] {
  const code = stripTypeScriptTypes(readFileSync(file, 'utf8'));
  const tokens = [...tokenizer(code, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true })];
  return tokens.flatMap((token) => {
    if (token.type.label !== 'regexp' || !('value' in token)) return [];
    const { pattern, flags } = token.value as Pick<Expression, 'pattern' | 'flags'>;
    return [{ file, pattern, flags }];
  });
}

describe('regular expressions of the service', () => {
  it('match in a time that grows with the length of the text, not with its square', async () => {
    // The search for a text that takes long is thorough; with a seed it finds the same in every run.
    const files = globSync('{src,packages/*/src}/**/*.ts');
    const expressions = files.flatMap(expressionsOf);
    expect(expressions.length).to.be.greaterThan(100);
    const slow: string[] = [];
    for (const { file, pattern, flags } of expressions) {
      const { status } = await check(pattern, flags, { timeout: 30_000, randomSeed: 1 });
      if (status !== 'safe') slow.push(`${file}: /${pattern}/${flags} is ${status}`);
    }
    expect(slow).to.deep.equal([]);
  });
});
