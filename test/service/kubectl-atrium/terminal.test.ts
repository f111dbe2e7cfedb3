/** Output of the program on a terminal: a service or an issuer must not control it (CWE-150). */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { expect } from 'chai';
import { harmless } from '../../../packages/kubectl-atrium/src/terminal.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { listen, stopListening } from '../../support/listening.ts';
import { Trusting } from '../../support/trusting.ts';
import { Machine } from './machine.ts';

/** Texts that change what a terminal shows, does or answers. */
const hostile: [title: string, text: string][] = [
  ['a colour', '\x1b[31mred'],
  ['a cleared screen', '\x1b[2J\x1b[H'],
  ['a title', '\x1b]0;title\x07'],
  ['the clipboard', '\x1b]52;c;cm0gLXJmIC8K\x07'],
  ['a hyperlink', '\x1b]8;;https://evil.example.com\x1b\\https://good.example.com\x1b]8;;\x1b\\'],
  ['a question that the terminal answers by typing', '\x1b[6n\x1b[c\x1b]10;?\x07'],
  ['a device control string', '\x1bP$q"p\x1b\\'],
  ['text for applications', '\x1b_payload\x1b\\'],
  ['a reset', '\x1bc'],
  ['another character set', '\x1b(0lqk\x0e'],
  ['CSI as one C1 code', '\x9b31mred'],
  ['OSC as one C1 code', '\x9d0;title\x9c'],
  ['DCS as one C1 code', '\x90payload\x9c'],
  ['NEL', 'one\x85two'],
  ['a line over the line before', 'refused\rgranted'],
  ['a backspace', 'no\b\byes'],
  ['a new row', 'NAME\nroot'],
  ['a form feed', 'a\x0cb'],
  ['a vertical tab', 'a\x0bb'],
  ['a bell', '\x07'],
  ['NUL', 'a\0b'],
  ['delete', 'a\x7fb'],
  ['a tab', 'a\tb'],
  ['a line separator', 'one\u2028two'],
  ['a paragraph separator', 'one\u2029two'],
  ['an override of the direction', 'abc\u202eexe.txt'],
  ['an isolate', '\u2066abc\u2069'],
  ['a mark of the direction', 'a\u200fb'],
  ['a zero-width space', 'ad\u200bmin'],
  ['a zero-width joiner', 'ad\u200dmin'],
  ['a byte order mark', '\ufeffadmin'],
  ['a soft hyphen', 'ad\u00admin'],
  ['tags', 'admin\u{e0041}'],
  ['half a character', 'a\ud83d'],
];
const unsafe = /[\p{C}\p{Zl}\p{Zp}]/u;

describe('kubectl atrium on a terminal', () => {
  const console = forSuite(
    async () => {
      const answer = { status: 200, body: {} as unknown };
      const server = createServer((_request, response) => {
        response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer.body));
      });
      return { answer, server, url: `http://127.0.0.1:${await listen(server)}` };
    },
    ({ server }) => stopListening(server),
  );
  const service = forSuite(() =>
    startEmbeddedLogin({ emails: ['jane@example.com'], password: 'correct horse', login: { audiences: ['kubectl'] } }),
  );
  const machine = forSuite(
    () => Machine.create(),
    (one) => one.remove(),
  );
  const dispatcher = forSuite(
    async () => new Trusting(readFileSync(service.caFile, 'utf8')),
    (agent) => agent.close(),
  );
  const options = () => ['--issuer', `${service.url}/identity`, '--ca-file', service.caFile, '--no-browser'];
  const run = (...args: string[]) => machine.run([...args, ...options(), '--console', console.url]);
  const answer = (status: number, body: unknown) => Object.assign(console.answer, { status, body });

  before(async () => {
    const person = { email: 'jane@example.com', password: 'correct horse' };
    expect(await machine.logIn(options(), { person, dispatcher })).to.include({ code: 0 });
  });

  for (const [title, text] of hostile) {
    it(`prints ${title} of a service as text`, async () => {
      const request = {
        metadata: { name: text },
        spec: { requester: text, roleRef: text, namespaces: [text] },
        status: { phase: text, until: text, reason: text },
      };

      answer(200, request);
      for (const { stdout, stderr } of [
        await run('access', 'request', 'view', '--policy', 'one', '--for', '1h'),
        await run('access', 'end', 'areq-1'),
      ])
        expect(`${stdout}${stderr}`.replaceAll('\n', '')).not.to.match(unsafe);

      answer(200, { metadata: {}, items: [request] });
      const table = await run('access', 'list');
      expect(table.stdout.replaceAll('\n', '')).not.to.match(unsafe);
      expect(table.stdout.split('\n')).to.have.lengthOf(3);
      const json = await run('access', 'list', '--output', 'json');
      expect(json.stdout.replaceAll('\n', '')).not.to.match(unsafe);
      expect(JSON.parse(json.stdout)).to.deep.equal({ metadata: {}, items: [request] });

      answer(403, { message: `refused: ${text}` });
      const refused = await run('access', 'list');
      expect(refused).to.include({ code: 1, stdout: '' });
      expect(refused.stderr.trimEnd()).not.to.match(unsafe);

      const rows = { subject: { kind: text, name: text }, binding: { kind: text, name: text }, role: { kind: text, name: text } };
      answer(200, { complete: true, notes: [text], total: 1, items: [rows] });
      for (const output of [[], ['-o', 'json']]) {
        const { stdout, stderr } = await run('who-can', 'get', 'pods.', ...output);
        expect(`${stdout}${stderr}`.replaceAll('\n', '')).not.to.match(unsafe);
      }
    });
  }

  it('cuts a long text between characters', () => {
    expect(harmless('👍'.repeat(400)).isWellFormed()).to.equal(true);
  });
});
