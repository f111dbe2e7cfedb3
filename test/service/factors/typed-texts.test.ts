/** Codes and addresses as people type and paste them into the pages of the embedded issuer. */
import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { Issuers } from '../identity/issuers.ts';
import { codeOf, codesIn, Person, secretIn, wasLetIn } from './person.ts';

const inDigits = (zero: number) => (code: string) => code.replaceAll(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));

/** Spellings of a code of an app. */
const codes: [title: string, spell: (code: string) => string][] = [
  ['as it is shown', (code) => code],
  ['with a blank in the middle', (code) => `${code.slice(0, 3)} ${code.slice(3)}`],
  ['with a no-break space', (code) => `${code.slice(0, 3)}\u00a0${code.slice(3)}`],
  ['with a thin space', (code) => `${code.slice(0, 3)}\u2009${code.slice(3)}`],
  ['with a hyphen', (code) => `${code.slice(0, 3)}-${code.slice(3)}`],
  ['with a dash', (code) => `${code.slice(0, 3)}–${code.slice(3)}`],
  ['with a dot', (code) => `${code.slice(0, 3)}.${code.slice(3)}`],
  ['with blanks around', (code) => `  ${code}\t`],
  ['with a line break', (code) => `${code}\r\n`],
  ['with zero-width spaces', (code) => `\u200b${code}\u200b`],
  ['with a byte order mark', (code) => `\ufeff${code}`],
  ['with marks of the direction', (code) => `\u202a${code}\u202c`],
  ['in full-width digits', inDigits(0xff10)],
  ['in Arabic digits', inDigits(0x0660)],
  ['in Persian digits', inDigits(0x06f0)],
  ['in digits of Devanagari', inDigits(0x0966)],
];

/** Texts that are no code of an app. */
const noCodes: [title: string, spell: (code: string) => string][] = [
  ['shorter', (code) => code.slice(1)],
  ['longer', (code) => `${code}0`],
  ['with a letter', (code) => `${code}a`],
  ['as a fraction', (code) => `${code.slice(0, 5)}½`],
];

/** Spellings of a recovery code. */
const recoveries: [title: string, spell: (code: string) => string][] = [
  ['as it is shown', (code) => code],
  ['in lower case', (code) => code.toLowerCase()],
  ['without dashes', (code) => code.replaceAll('-', '')],
  ['with blanks', (code) => code.replaceAll('-', ' ')],
  ['with dashes of a word processor', (code) => code.replaceAll('-', '–')],
  ['with non-breaking hyphens', (code) => code.replaceAll('-', '\u2011')],
  ['with a line break', (code) => `${code}\r\n`],
  ['in full width', (code) => code.replaceAll(/[A-Z0-9]/g, (one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0))],
  [
    'in full width and lower case',
    (code) => code.toLowerCase().replaceAll(/[a-z0-9]/g, (one) => String.fromCharCode(one.charCodeAt(0) + 0xfee0)),
  ],
  ['with zero-width spaces', (code) => code.replaceAll('-', '-\u200b')],
];

/** Spellings of an e-mail address with which its user logs in. */
const addresses: [title: string, spell: (email: string) => string][] = [
  ['as it is', (email) => email],
  ['in upper case', (email) => email.toUpperCase()],
  ['with a capital', (email) => `${email.charAt(0).toUpperCase()}${email.slice(1)}`],
  ['with a blank behind, as telephones complete it', (email) => `${email} `],
  ['with blanks around', (email) => `  ${email}  `],
  ['with a tab', (email) => `\t${email}`],
  ['with a line break', (email) => `${email}\r\n`],
  ['with a no-break space', (email) => `${email}\u00a0`],
  ['with an ideographic space', (email) => `\u3000${email}`],
  ['with a zero-width space', (email) => `${email}\u200b`],
  ['with a byte order mark', (email) => `\ufeff${email}`],
  ['with marks of the direction, as mail programs copy it', (email) => `\u202a${email}\u202c`],
  ['with a word joiner', (email) => `\u2060${email}`],
];

/** Addresses of others. */
const others: [title: string, spell: (email: string) => string][] = [
  ['a blank inside', (email) => email.replace('@', ' @')],
  ['a zero-width space inside', (email) => email.replace('@', '\u200b@')],
  ['a letter that looks alike', (email) => email.replace('a', 'а')],
  ['full-width letters', (email) => email.replace('a', 'ａ')],
];

describe('texts as users type them at the embedded issuer', () => {
  const issuers = forSuite(() => Issuers.start());
  let count = 0;
  const someone = () => {
    count += 1;
    return Person.with(issuers, `ana.${count}@example.com`);
  };

  for (const [title, spell] of codes)
    it(`take a code of an app ${title}`, async () => {
      const person = await someone();
      const browser = person.browser();
      const page = await person.begin(browser, { prompt: 'enrol', factor: 'totp' });
      const secret = secretIn(page);
      const shown = await browser.submit(page, { code: spell(codeOf(secret)) });
      expect(codesIn(shown)).to.have.lengthOf(10);

      expect(wasLetIn(await person.logIn(spell(codeOf(secret, 1))))).to.equal(true);
    });

  for (const [title, spell] of noCodes)
    it(`refuse a code of an app that is ${title}`, async () => {
      const person = await someone();
      await person.enrol();

      expect(wasLetIn(await person.logIn(spell(codeOf(person.secret, 1))))).to.equal(false);
    });

  it('take recovery codes in every spelling, each once', async () => {
    const person = await someone();
    await person.enrol();

    for (const [index, [title, spell]] of recoveries.entries()) {
      const code = spell(person.codes[index] ?? '');
      expect(wasLetIn(await person.logIn(code)), title).to.equal(true);
      expect(wasLetIn(await person.logIn(code)), `${title}, again`).to.equal(false);
    }
  });

  for (const [title, spell] of addresses)
    it(`take an address ${title}`, async () => {
      const person = await someone();
      const { email, password } = person;

      expect(wasLetIn(await person.party().begin(person.browser(), { email: spell(email), password }))).to.equal(true);
    });

  for (const [title, spell] of others)
    it(`refuse an address with ${title}`, async () => {
      const person = await someone();
      const { email, password } = person;

      expect(wasLetIn(await person.party().begin(person.browser(), { email: spell(email), password }))).to.equal(false);
    });

  it('take passwords as they are', async () => {
    const asked = await someone();
    const { email, password } = asked;

    for (const other of [` ${password}`, `${password} `, `${password}\n`, `${password}\u200b`])
      expect(wasLetIn(await asked.party().begin(asked.browser(), { email, password: other })), JSON.stringify(other)).to.equal(false);
  });
});
