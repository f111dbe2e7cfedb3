/**
 * YAML, and the JSON that kubectl makes of it: test/tools/kubectl/embedded/yaml.test.ts compares it with kubectl, and rewrites the file.
 */
import { readFileSync } from 'node:fs';

export const casesFile: URL = new URL('kubectl-yaml.json', import.meta.url);

/** Members of `spec`, and their JSON. Null if kubectl refuses them. */
export type YamlCase = readonly [yaml: string, json: string | null];

export const yamlCases: readonly YamlCase[] = JSON.parse(readFileSync(casesFile, 'utf8')) as YamlCase[];

/** Returns an object with these members in its `spec`. */
export const yamlObject = (members: string, name = 'a'): string =>
  `apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: ${name}}\nspec:\n${members.replaceAll(/^(?=[^\n])/gm, '  ')}`;

const around = (char: string) => [char, `a${char}b`, `a\n${char}b\n`, `${char} x`, `x ${char}`, `x${char}\n`];
const special = ['\u2028', '\u2029', '\ufeff', '\u{1f600}', '\u200b', '\u202e', '\ufffd', '\ue000'];
const lines = [
  ...['\n', '\n\n', 'a\n\n', '\na', ' \na\n', '  a\n b\n', 'a\n  b', '\ta\n', 'a\n\t b\n', 'a \n b\n', 'a\r\nb\r\n', 'a\rb', '\n a'],
  ...[
    '---\na\n',
    'a\n---\nb\n',
    '...\n',
    '# x\n',
    'a\n# x\n',
    'a\n \n b\n',
    '- a\n',
    'key: |\n  a\n',
    'x'.repeat(600),
    `${'x '.repeat(300)}`,
  ],
  ...['"', "'", '\\', 'a\\nb', '{{ x }}', '[[', '&a', '*a', '!a', '? a', ': a', 'a: ', 'a :b', ' #', 'a #b', '<<', '1:30', '12:30:45.5'],
];

/** Texts that kubectl must get unchanged: those with a meaning in YAML without quotes, and each character of Latin 1. */
export const yamlTexts: readonly string[] = [
  ...yamlCases.map(([yaml]) => yaml.replace(/^value: /, '').trim()),
  ...Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code)).flatMap(around),
  ...special.flatMap(around),
  ...lines,
];
