import { expect } from 'chai';
import { describe, it } from 'mocha';
import { dnKey } from '../../../src/directory/person.ts';

describe('the key of a distinguished name', () => {
  const same: [string, string][] = [
    ['CN=Jane,DC=Example,DC=com', 'cn=jane,dc=example,dc=com'],
    ['cn=jane , dc = example;dc=com', 'cn=jane,dc=example,dc=com'],
    ['cn=Doe\\, John,dc=x', 'cn=doe\\2c john,dc=x'],
    ['cn=a \\+ b\\=c,dc=x', 'cn=a \\2B b\\3Dc,dc=x'],
    ['cn=\\"q\\" \\\\ \\#,dc=x', 'cn=\\22q\\22 \\5C \\23,dc=x'],
    ['cn=Müller 名,dc=x', 'cn=m\\C3\\BCller \\e5\\90\\8d,dc=x'],
    ['cn=\\4Aane,dc=x', 'cn=jane,dc=x'],
    ['uid=1+cn=b,dc=x', 'cn=b+uid=1,dc=x'],
    ['cn=Özil Δ,dc=x', 'cn=\\C3\\96zil \\CE\\94,dc=x'],
    ['cn=John  Doe,dc=x', 'cn=John\\20Doe,dc=x'],
    ['cn=Zoe\u0308,dc=x', 'cn=zo\u00eb,dc=x'],
    ['cn=a=b (c)-d,dc=x', 'cn=a\\3Db \\28c\\29\\-d,dc=x'],
  ];
  for (const [left, right] of same) it(`is the same for ${left} and ${right}`, () => expect(dnKey(left)).to.equal(dnKey(right)));

  const different: [string, string][] = [
    ['cn=a\\,dc=x', 'cn=a,dc=x'],
    ['cn=a\\2cdc=x', 'cn=a,dc=x'],
    ['cn=a\\+b=c,dc=x', 'cn=a+b=c,dc=x'],
    ['cn=%2c,dc=x', 'cn=\\2c,dc=x'],
    ['cn=a\\ ,dc=x', 'cn=a,dc=x'],
    ['cn=a,dc=x', 'dc=x,cn=a'],
    ['cn=a = b,dc=x', 'cn=a=b,dc=x'],
    ['cn=John Doe,dc=x', 'cn=JohnDoe,dc=x'],
    ['cn=\\FF,dc=x', 'cn=\\FE,dc=x'],
    ['cn=a\u00a0,dc=x', 'cn=a,dc=x'],
    ['cn=%ff,dc=x', 'cn=\\ff,dc=x'],
  ];
  for (const [left, right] of different) it(`distinguishes ${left} from ${right}`, () => expect(dnKey(left)).not.to.equal(dnKey(right)));
});
