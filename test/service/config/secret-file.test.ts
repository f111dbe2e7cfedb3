import { secretOf } from '@atrium/http/secret-file.ts';
import { expect } from 'chai';

/** Contents of files, with the secret that they hold. */
const rows: [content: string, secret: string][] = [
  ['secret', 'secret'],
  ['secret\n', 'secret'],
  ['secret\r\n', 'secret'],
  ['secret\n\n\n', 'secret'],
  ['secret\r\n\r\n', 'secret'],
  ['\ufeffsecret\r\n', 'secret'],
  [' secret ', ' secret '],
  [' secret \n', ' secret '],
  ['secret\t\n', 'secret\t'],
  ['two\nlines\n', 'two\nlines'],
  ['\u00a0secret\u00a0', '\u00a0secret\u00a0'],
  ['', ''],
  ['\n', ''],
];

describe('a secret in a file', () => {
  for (const [content, secret] of rows)
    it(`is ${JSON.stringify(secret)} for ${JSON.stringify(content)}`, () => {
      expect(secretOf(content)).to.equal(secret);
    });
});
