import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { LogText } from '../../../web/src/pages/cluster/logs/log-text.ts';
import { shownOf } from '../../../web/src/pages/cluster/logs/terminal-line.ts';

const encoded = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** Returns the lines of a log that arrives in messages of so many bytes. */
function linesOf(data: Uint8Array<ArrayBuffer>, size = data.length): string[] {
  const log = new LogText();
  const lines: string[] = [];
  for (let at = 0; at < data.length; at += size) lines.push(...log.add(data.slice(at, at + size).buffer).map(({ text }) => text));
  return [...lines, ...log.end().map(({ text }) => text)];
}

const recordings = JSON.parse(readFileSync(new URL('terminal-recordings.json', import.meta.url), 'utf8')) as Record<string, string>;

/** Sequences as programs emit them, with the text that a terminal shows. */
const rows: [title: string, line: string, shown: string][] = [
  ['16 colours', '\x1b[31mred\x1b[0m', 'red'],
  ['256 colours', '\x1b[38;5;196mred\x1b[m', 'red'],
  ['truecolor with semicolons', '\x1b[38;2;255;0;0mred\x1b[39m', 'red'],
  ['truecolor with colons', '\x1b[38:2::255:0:0mred\x1b[39m', 'red'],
  ['a curly underline with its colour', '\x1b[4:3m\x1b[58:5:9mtypo\x1b[59m\x1b[24m', 'typo'],
  ['a reset with a character set, as top writes it', '\x1b(B\x1b[mtasks', 'tasks'],
  ['modes of DEC', '\x1b[?25l\x1b[?2004hprompt\x1b[?2004l', 'prompt'],
  ['keys of xterm, as vim asks for them', '\x1b[>4;2mtext\x1b[>4;m', 'text'],
  ['the shape of the cursor', '\x1b[2 qtext', 'text'],
  ['a question for the terminal', '\x1b[c\x1b[6n\x1b[>0;276;0ctext', 'text'],
  ['a title that ends with BEL', '\x1b]0;user@host: ~\x07$ ls', '$ ls'],
  ['a title that ends with ST', '\x1b]2;title\x1b\\$ ls', '$ ls'],
  ['a hyperlink', '\x1b]8;;https://example.com/a\x1b\\link\x1b]8;;\x1b\\ end', 'link end'],
  ['a hyperlink with an id', '\x1b]8;id=1;file:///tmp/a\x07a\x1b]8;;\x07', 'a'],
  ['a write to the clipboard', 'a\x1b]52;c;cm0gLXJmIC8K\x07b', 'ab'],
  ['a mark of the prompt', '\x1b]133;A\x07$ \x1b]133;B\x07ls', '$ ls'],
  ['progress for the task bar', '\x1b]9;4;1;50\x1b\\half', 'half'],
  ['an image', '\x1bPq#0;2;0;0;0~-\x1b\\done', 'done'],
  ['text for applications', '\x1b_Ga=T;AAAA\x1b\\done', 'done'],
  ['a private message', '\x1b^secret\x1b\\done', 'done'],
  ['the single codes of ESC', '\x1b=\x1b>\x1bctext', 'text'],
  ['C1 codes', '\x9b31mred\x9bm \x9d0;title\x9ctext\x85', 'red text'],
  ['an erasing of one C1 code', 'downloading\r\x9bKdone', 'done'],
  ['a bell, NUL, shift and delete', 'a\x07b\x00c\x0e\x0fd\x7fe', 'abcde'],
  ['CRLF', 'text\r', 'text'],
  ['CRCRLF', 'text\r\r', 'text'],
  ['text over text', '100%\r99', '990%'],
  ['an erased end', 'downloading\r\x1b[Kdone', 'done'],
  ['text before its own erasing, as git writes it', 'Counting: 100%\x1b[K\rdone\x1b[K', 'done'],
  ['an erased beginning', 'abcdef\x1b[3D\x1b[1Kx', '   xef'],
  ['an erased line', 'abcdef\x1b[2K\rx', 'x'],
  ['a spinner of npm', '⠙\x1b[1G\x1b[0Kadded 1 package', 'added 1 package'],
  ['a man page', 'N\bNA\bAM\bME\bE _\bf_\bi', 'NAME fi'],
  ['a backspace at the beginning', '\b\ba', 'a'],
  ['an erased character', 'passx\b \bword', 'password'],
  ['a cursor to the left and right', 'abc\x1b[2DX\x1b[1CY', 'aXcY'],
  ['a cursor beyond the text', 'a\x1b[3Cb\x1b[8Gc', 'a   b  c'],
  ['a cursor far beyond the text', `a\x1b[999999999Cb`, `a${' '.repeat(1023)}b`],
  ['deleted and inserted characters, as readline writes them', 'echo abc\x1b[3D\x1b[1PX\x1b[2D\x1b[1@Y', 'echoY Xc'],
  ['blanked characters', 'abcdef\r\x1b[3X', '   def'],
  ['a repeated character, as ncurses writes it', '-\x1b[9b', '----------'],
  ['a saved cursor', '\x1b7abc\x1b8X \x1b[sYY\x1b[uZ', 'X ZY'],
  ['an erased screen', 'old\x1b[H\x1b[2Jnew', 'old\nnew'],
  ['rows of a full screen', '\x1b[1;1Hone\x1b[2;3Htwo\x1b[6;1Hthree', 'one\n  two\nthree'],
  ['rows above', 'one\x1b[1A\x1b[2K\rtwo\x1bEthree', 'one\ntwo\nthree'],
  ['a sequence without an end', 'text\x1b[38;5', 'text'],
  ['a title without an end', 'text\x1b]0;not hidden', 'text]0;not hidden'],
  ['a sequence of no meaning', 'a\x1b[1;2éb', 'aéb'],
  ['a combining mark', 'e\u0301\r\x1b[1Cx', 'e\u0301x'],
  ['wide characters and emoji', '日本 👍🏽\x1b[0m', '日本 👍🏽'],
  ['a tab', 'a\tb', 'a\tb'],
];

/** Lines that a terminal shows of real programs, recorded with `script`. */
const shown: Record<string, string[]> = {
  bash: ['bash-5.2# echo aXbc', 'aXbc', 'bash-5.2# ', 'exit'],
  curl: [`${'#'.repeat(72)} 100.0%`],
  grep: ['two'],
  ls: ['t.py'],
  npm: ['/home/demo', '└── (empty)', '', ''],
};

describe('the view of a log as a terminal shows it', () => {
  for (const [title, line, text] of rows)
    it(`shows ${title}`, () => {
      expect(linesOf(encoded(`${line}\nnext\n`))).to.deep.equal([text, 'next']);
      expect(linesOf(encoded(`${line}\nnext\n`), 1)).to.deep.equal([text, 'next']);
    });

  for (const [program, text] of Object.entries(recordings)) {
    it(`shows a recording of ${program} without control characters, in messages of any size`, () => {
      const lines = linesOf(encoded(text));

      expect(lines.filter((line) => /(?!\t)[\p{Cc}]/u.test(line.replaceAll('\n', '')))).to.deep.equal([]);
      for (const size of [1, 2, 3, 7, 64]) expect(linesOf(encoded(text), size)).to.deep.equal(lines);
      if (shown[program]) expect(lines).to.deep.equal(shown[program]);
    });
  }

  it('shows the last state of each progress of git and apt', () => {
    expect(linesOf(encoded(recordings.git ?? '')).join('\n'))
      .to.contain('Receiving objects: 100% (32/32), ')
      .and.not.match(/\b[1-9]%/);
    expect(linesOf(encoded(recordings.apt ?? ''))).to.deep.include('Reading package lists... Done');
  });

  it('shows the rows of vim and top, each in a line', () => {
    expect(
      linesOf(encoded(recordings.vim ?? ''))
        .join('\n')
        .split('\n'),
    ).to.include.members(['~', 'hello']);
    expect(linesOf(encoded(recordings.top ?? '')).join('\n')).to.match(/^top - .*\nTasks: {3}1 total/);
  });

  it('shows an unfinished line without the sequence that has no end yet', () => {
    for (const part of ['\x1b', '\x1b[', '\x1b[38;5', '\x1b]0;tit', '\x1b]0;title\x1b', '\x1b(', '\x9b3']) {
      const log = new LogText();
      log.add(encoded(`text${part}`).buffer);
      expect(log.unfinished, JSON.stringify(part)).to.equal('text');
    }
  });

  it('keeps invalid UTF-8 visible, and characters in several messages whole', () => {
    expect(linesOf(new Uint8Array([0x61, 0xff, 0x62, 0x0a, 0xe2, 0x82]))).to.deep.equal(['a\ufffdb', '\ufffd']);
    expect(linesOf(encoded('€👍\n'), 1)).to.deep.equal(['€👍']);
  });

  it('cuts a line without an end between characters', () => {
    const lines = linesOf(encoded(`x${'👍'.repeat(1_500_000)}`));

    expect(lines.every((line) => line.isWellFormed() && line.length <= 1_000_000)).to.equal(true);
    expect(lines.join('')).to.have.lengthOf(3_000_001);
  });

  it('keeps only the last state of a spinner, also without a carriage return', () => {
    const log = new LogText();
    for (let step = 0; step < 20_000; step += 1) log.add(encoded(`\x1b[1G\x1b[0Kstep ${step}`).buffer);

    expect(log.unfinished).to.equal('step 19999');
  });

  it('adds cells in proportion to its length alone', () => {
    const wide = '\x1b[1000Cx\x1b[1000b\x1b[G\x1b[1000@\r\x1b[K';
    const long = shownOf(`${wide.repeat(1_000)}\x1b[1000Cx\x1b[1000b`);

    expect(long).to.equal('x');
    expect(shownOf('\x1b[40Cx\x1b[3b')).to.equal(`${' '.repeat(40)}xxxx`);
  });
});
