import { expect } from 'chai';
import { mergePolicy } from '../../../src/plugins/content-security-policy.ts';

const policy = "default-src 'self'; img-src 'none'; object-src 'none'";
const merged = (...additions: [string, ...string[]][]) =>
  mergePolicy(
    policy,
    additions.map(([directive, ...values]) => ({ directive, values })),
  );

describe('the policy of pages with the sources of plugins', () => {
  it('takes all six directives, each on top of its default', () => {
    expect(
      merged(
        ['ScriptSrc', 'https://s.example'],
        ['StyleSrc', 'https://t.example'],
        ['ImgSrc', 'https://i.example', 'data:'],
        ['FontSrc', 'https://f.example'],
        ['ConnectSrc', 'wss://c.example:8443'],
      ).text,
    ).to.equal(
      "default-src 'self'; img-src https://i.example data:; object-src 'none'; script-src 'self' https://s.example; style-src 'self' https://t.example; font-src 'self' https://f.example; connect-src 'self' wss://c.example:8443",
    );
  });

  it('gives the sources that one plugin adds to DefaultSrc to the directives of the others, in any order', () => {
    expect(merged(['ScriptSrc', 'https://s.example'], ['DefaultSrc', 'https://d.example']).text).to.equal(
      "default-src 'self' https://d.example; img-src 'none'; object-src 'none'; script-src 'self' https://d.example https://s.example",
    );
  });

  it('refuses directives that are not for plugins', () => {
    expect(merged(['ObjectSrc', 'https://o.example'], ['__proto__', 'https://p.example'], ['ScriptSrc']).text).to.equal(policy);
  });

  it('PLG-01 keeps a length that servers on the way take, whatever is asked for', () => {
    const { text, leftOut } = merged(...Array.from({ length: 10_000 }, (_, at): [string, string] => ['ImgSrc', `https://${at}.example`]), [
      'FontSrc',
      'https://small.example',
    ]);
    expect(text.length).to.be.at.most(6 * 1024);
    expect(leftOut).to.be.above(9_000);
  });
});
