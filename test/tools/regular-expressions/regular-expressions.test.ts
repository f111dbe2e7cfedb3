import { globSync, readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { tokenizer } from 'acorn';
import { expect } from 'chai';
import { ownPackages } from '../../support/own-packages.ts';

/** Package that only this suite installs: the compiler does not see its types. */
interface Recheck {
  check(pattern: string, flags: string, options: object): Promise<{ status: 'safe' | 'vulnerable' | 'unknown' }>;
}

interface Expression {
  file: string;
  pattern: string;
  flags: string;
}

/**
 * Options of a thorough and reproducible search for slow texts: the seed is fixed, and cost is counted in steps. Measured by time, a safe
 * expression would seem slow on a busy machine.
 */
const parameters = { randomSeed: 1, incubationTimeout: null, attackTimeout: null, timeout: 120_000 };

/** Returns every regular expression literal of a file. */
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
    const packages = await ownPackages(new URL('./', import.meta.url));
    const { check } = createRequire(import.meta.url)(join(packages, 'recheck')) as Recheck;
    const files = globSync('{src,packages/*/src}/**/*.ts');
    const expressions = files.flatMap(expressionsOf);
    expect(expressions.length).to.be.greaterThan(100);
    const slow: string[] = [];
    const known = new Map<string, string>();
    for (const { file, pattern, flags } of expressions) {
      const literal = `/${pattern}/${flags}`;
      const status = known.get(literal) ?? (await check(pattern, flags, parameters)).status;
      known.set(literal, status);
      if (status !== 'safe') slow.push(`${file}: ${literal} is ${status}`);
    }
    expect(slow).to.deep.equal([]);
  });
});
