/** Texts that slow down a careless parser: each has a short description, and the maximum length of its input. */

export interface HostileText {
  readonly name: string;
  readonly of: (length: number) => string;
}

/** Every character with a meaning in a grammar of the service, and one of each class without. */
const signs = [...'()[]{}<>,;:=!?&|/\\.-_+*~^%"\'`@#$ \t\r\n\0aAe0né\u{1F600}\uFDFA'];

/** Parts to repeat: nested openers, and small parts that each cause work. */
const parts = [
  ...['a,', 'a=b,', '!a,', 'a!=b,', 'a in (b),', 'a>1,', 'a,a', '\\,', '\\\\', '=a', 'a=', ';q=0,', 'a;q=1,', '*;q=0.1,', 'a-b-', 'a;'],
  ...['W/"a",', '"",', '""', '{"a":', '[', '[]', '[[', '0,', '1e1,', '-', '\\"', '\\u0041', 'a b ', 'a.', '.a', '../', '/a', '//', '%41'],
  ...[
    '%2e',
    '%C3%A9',
    '%',
    'a=1&',
    '&&',
    '[a]',
    'a[b]=1&',
    '10.0.0.1,',
    '::1,',
    '1:',
    '=?',
    'ab',
    'aA',
    'a1',
    'a ',
    ' a',
    '\r\n',
    'e\u0301',
  ],
];

const repeated = (part: string): HostileText => ({
  name: `${JSON.stringify(part)} repeated`,
  of: (length) => part.repeat(Math.floor(length / part.length)),
});

/** Returns a text that is valid until its last character. */
const spoilt = (part: string, end: string): HostileText => ({
  name: `${JSON.stringify(part)} repeated, ${JSON.stringify(end)} at the end`,
  of: (length) => part.repeat(Math.max(0, Math.floor((length - end.length) / part.length))) + end,
});

const numbered = (name: string, part: (number: string) => string): HostileText => ({
  name,
  of(length) {
    let text = '';
    for (let number = 0; ; number += 1) {
      const next = part(number.toString(36));
      if (text.length + next.length > length) return text;
      text += next;
    }
  },
});

export const hostileTexts: readonly HostileText[] = [
  ...signs.map(repeated),
  ...parts.map(repeated),
  ...['a', '0', '-', '.', 'a-', 'a.', '/a', 'a,', 'a=b,'].map((part) => spoilt(part, '!')),
  ...['0', '(', '[', '{', '"', 'a'].map((part) => spoilt(part, ')')),
  numbered('different words', (number) => `${number},`),
  numbered('different pairs', (number) => `${number}=${number},`),
  numbered('different cookies', (number) => `atrium_${number}=1; `),
  numbered('different fields', (number) => `${number}=&`),
];

/** Texts for a value in a body, where repeating a character is enough. */
export const hostileRuns: readonly HostileText[] = [...[...'a."\uFDFA'].map(repeated), ...['0', 'a.'].map((part) => spoilt(part, '!'))];

const listed = (name: string, item: string): HostileText => ({
  name,
  of: (length) => `[${`${item},`.repeat(Math.max(0, Math.floor((length - item.length - 2) / (item.length + 1))))}${item}]`,
});

/** JSON values. */
export const hostileValues: readonly HostileText[] = [
  listed('a list of zeros', '0'),
  listed('a list of empty texts', '""'),
  listed('a list of short texts', '"a"'),
  listed('a list of texts with escapes', '"\\u0041"'),
  listed('a list of lists', '[]'),
  listed('a list of objects', '{}'),
  listed('a list of objects with a member', '{"a":0}'),
  listed('a list of operations', '{"op":"add","path":"/a","value":0}'),
  listed('a list of tests', '{"op":"test","path":"/a","value":0}'),
  {
    name: 'a JSON Patch with a deep path',
    of: (length) => `[{"op":"add","value":0,"path":"${'/a'.repeat(Math.floor((length - 40) / 2))}"}]`,
  },
  {
    name: 'a JSON Patch with an escaped path',
    of: (length) => `[{"op":"add","value":0,"path":"/${'~1'.repeat(Math.floor((length - 40) / 2))}"}]`,
  },
  {
    name: 'an object of many members',
    of(length) {
      const members = numbered('', (number) => `,"${number}":0`).of(length - 10);
      return `{${members.slice(1)}}`;
    },
  },
  { name: 'an object with a long name', of: (length) => `{"${'a'.repeat(Math.max(0, length - 10))}":0}` },
  { name: 'nested objects', of: (length) => `${'{"a":'.repeat(Math.floor(length / 6))}0${'}'.repeat(Math.floor(length / 6))}` },
  { name: 'nested lists', of: (length) => '['.repeat(Math.floor(length / 2)) + ']'.repeat(Math.floor(length / 2)) },
  { name: 'a number of many digits', of: (length) => '1'.repeat(length) },
  { name: 'a fraction of many digits', of: (length) => `0.${'1'.repeat(Math.max(1, length - 2))}` },
  { name: 'spaces', of: (length) => `${' '.repeat(Math.max(0, length - 1))}0` },
];
