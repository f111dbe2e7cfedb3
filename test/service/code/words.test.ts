import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { App } from '../../../src/app.ts';
import { type Message, messagesOfPacks, messagesOfSources, titles } from './messages.ts';
import { oddFormsOf } from './odd-sentences.ts';

/** Words that Kubernetes' documentation would not use, or would not write so. `nobody` is also a user of the demo. */
const refused = /\b(?:whoever|somebody|anybody|everybody|anew|log-ins?|log-outs?)\b|(?<!['`@_ ]|as |may )\bnobody\b(?![@'`"_:])/i;
/** A sentence begins with a noun of the field or a verb. */
const refusedBeginning =
  /^(?:\*\*|\(|"|')*(?:What|Whose|Who|Of|As|By|One|Those|That|Whether|How|So|Or|Nothing|Else|It|Where|Which|Since when|Until when|From when)(?!-)\b/;
const longestSentence = 30;
const longestLine = 120;

const pages = [
  ...globSync('{README,CHANGELOG,CONTRIBUTING,SECURITY,CODE_OF_CONDUCT}.md'),
  ...globSync('docs/*.md'),
  ...globSync('docs/contract/*.md'),
  ...globSync('docs/decisions/*.md'),
  ...globSync('deploy/helm/atrium/README.md'),
  ...globSync('packages/*/README.md'),
];

/** Markdown without code blocks and comments. */
const withoutCode = (text: string) => text.replaceAll(/^```.*?^```/gms, '').replaceAll(/<!--.*?-->/gs, '');

/** Paragraphs, list items and cells. */
function passages(text: string): string[] {
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.)\s?)/)
    .flatMap((passage) => (passage.trimStart().startsWith('|') ? passage.split(/(?<!\\)\|/) : [passage]));
}

/** Returns the sentences. Quoted code counts as one word, and a part after a semicolon or colon as a sentence of its own. */
function sentences(passage: string): string[] {
  const plain = passage
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/\s+/g, ' ');
  return plain.split(/(?<=[.!?:;]\*{0,2})\s+/);
}

const tooLong = (text: string) =>
  passages(text)
    .flatMap(sentences)
    .filter((sentence) => sentence.trim().split(' ').length > longestSentence);

/** Sentences without the mark of a heading, a list item or a quotation before them. */
const beginnings = (text: string) =>
  passages(text)
    .flatMap(sentences)
    .map((sentence) => sentence.trim().replace(/^(?:[-*>#]+|\d+\.)\s+/, ''));

describe('the words of the documentation', () => {
  for (const file of pages) {
    it(`are plain in ${file}, in short sentences and lines`, () => {
      const text = readFileSync(file, 'utf8');
      const prose = withoutCode(text);
      expect(prose.split('\n').filter((line) => refused.test(line.replaceAll(/`[^`]*`/g, '')))).to.deep.equal([]);
      expect(tooLong(prose)).to.deep.equal([]);
      expect(beginnings(prose).filter((sentence) => refusedBeginning.test(sentence))).to.deep.equal([]);
      expect(prose.split('\n').filter((line) => line.length > longestLine && !line.trimStart().startsWith('|'))).to.deep.equal([]);
    });
  }

  it('are plain in the OpenAPI document, in short sentences that begin with a noun or a verb', () => {
    const texts: string[] = [];
    JSON.stringify(App.describe({ accessRequests: true, cpuProfile: true, mcp: true, tokenExchange: true }), (key, value: unknown) => {
      if ((key === 'description' || key === 'summary') && typeof value === 'string') texts.push(value);
      return value;
    });
    expect(texts.length).to.be.greaterThan(400);
    expect(texts.filter((text) => refused.test(text))).to.deep.equal([]);
    expect(texts.flatMap(tooLong)).to.deep.equal([]);
    expect(texts.flatMap(beginnings).filter((sentence) => refusedBeginning.test(sentence))).to.deep.equal([]);
  });
});

describe('the words of `kubectl explain`', () => {
  for (const file of globSync('deploy/helm/atrium/files/crds/*.yaml'))
    it(`are plain in ${file}, in short sentences that begin with a noun or a verb`, () => {
      const texts: string[] = [];
      JSON.stringify(parse(readFileSync(file, 'utf8')), (key, value: unknown) => {
        if (key === 'description' && typeof value === 'string') texts.push(value);
        return value;
      });
      expect(texts.filter((text) => refused.test(text))).to.deep.equal([]);
      expect(texts.flatMap(tooLong)).to.deep.equal([]);
      expect(texts.flatMap(beginnings).filter((sentence) => refusedBeginning.test(sentence))).to.deep.equal([]);
    });
});

/** Comments of YAML files, a block each. Administrators read them before they grant the rights below. */
const commentBlocks = (text: string): string[] =>
  [...text.matchAll(/(?:^[ \t]*# [^\n]*\n)+/gm)].map(([block]) =>
    block
      .replaceAll(/^[ \t]*# /gm, '')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );

describe('the words of manifests', () => {
  for (const file of globSync('deploy/{helm/atrium,examples,example-overlay,manifests}/**/*.{yaml,tpl}', { exclude: ['**/base/**'] }))
    it(`are plain in ${file}, in sentences that begin with a noun or a verb`, () => {
      const texts = commentBlocks(readFileSync(file, 'utf8'));
      expect(texts.filter((text) => refused.test(text))).to.deep.equal([]);
      expect(texts.flatMap(beginnings).filter((sentence) => refusedBeginning.test(sentence))).to.deep.equal([]);
    });
});

/** Anchors as GitHub makes them of headings. */
function anchors(file: string): Set<string> {
  const headings = [...withoutCode(readFileSync(file, 'utf8')).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading.toLowerCase());
  return new Set(
    headings.map((heading) =>
      heading
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(/\s/g, '-'),
    ),
  );
}

describe('the links of the documentation', () => {
  for (const file of pages)
    it(`lead to a file and a heading in ${file}`, () => {
      const prose = withoutCode(readFileSync(file, 'utf8')).replaceAll(/`[^`\n]*`/g, '');
      const links = [...prose.matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
      const broken = links.filter(([, path = '', anchor]) => {
        const target = path === '' ? file : join(dirname(file), path);
        return !existsSync(target) || (anchor !== undefined && target.endsWith('.md') && !anchors(target).has(anchor));
      });

      expect(broken.map(([link]) => link)).to.deep.equal([]);
    });
});

describe('the words of the code', () => {
  const files = globSync('{src,packages,test,bench,scripts}/**/*.ts', { exclude: (name) => name.includes('node_modules') });
  const commentOn = (line: string) => /^\s*(?:\/\*\*?|\*|\/\/) .*|\/\/ .*/.exec(line)?.[0] ?? '';

  it('are plain in comments', () => {
    const found = files.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => refused.test(commentOn(line).replaceAll(/`[^`]*`|\/\S+/g, '')))
        .map((line) => `${file}: ${line.trim()}`),
    );
    expect(found).to.deep.equal([]);
  });
});

/** A log line tells an event or a state: a participle, a form of to be, or one of few verbs in the present. */
const verbOfLogLine = /\b(?:\w+ed|\w+ing|is|are|was|were|did|does|could|cannot|un\w+able|answers|receives|reports)\b/;

const shown = ({ place, text }: Message, reasons: string[]) => `${place}: ${text} (${reasons.join(', ')})`;

describe('the words of messages', () => {
  const isPlain = ({ text }: Message) => !refused.test(text.replaceAll(/`[^`]*`|\/\S+/g, ''));
  const odd = (messages: Message[]) =>
    messages.flatMap((message) => {
      const reasons = oddFormsOf(message);
      return reasons.length === 0 ? [] : [shown(message, reasons)];
    });

  for (const [what, messages, atLeast] of [
    ['errors, conditions, log lines and command lines', messagesOfSources(), 1500],
    ['English text packs', messagesOfPacks(), 500],
    ['titles of tests', titles(), 4000],
  ] as const)
    it(`are plain in ${what}, in sentences with a subject and the noun of each clause`, () => {
      expect(messages.length).to.be.greaterThan(atLeast);
      expect(odd(messages)).to.deep.equal([]);
      expect(messages.filter((message) => !isPlain(message)).map((message) => shown(message, ['words']))).to.deep.equal([]);
    });

  it('have a verb or the name of a state in each log line', () => {
    const isWithoutVerb = ({ text }: Message) => !verbOfLogLine.test(text);
    expect(
      messagesOfSources()
        .filter(({ use }) => use === 'log')
        .filter(isWithoutVerb)
        .map((message) => shown(message, ['verb'])),
    ).to.deep.equal([]);
  });
});

/** Comments, each as one text. */
function commentsOf(code: string): string[] {
  const blocks = [...code.matchAll(/\/\*\*?\s([\s\S]*?)\*\//g)].map(([, text = '']) => text.replaceAll(/^\s*\* ?/gm, ''));
  const lines = [...code.matchAll(/(?:^\s*\/\/ .*\n)+/gm)].map(([text]) => text.replaceAll(/^\s*\/\/ /gm, ''));
  return [...blocks, ...lines].flatMap((text) => text.split(/^\s*@\w+ /m));
}

describe('the sentences of the code', () => {
  it('begin with a noun or a verb, in comments', () => {
    const isOurs = (name: string) => !name.includes('node_modules') && !name.endsWith('.d.ts');
    const files = globSync('{src,web/src,packages,test,bench,scripts}/**/*.{ts,tsx}').filter(isOurs);
    const found = files.flatMap((file) =>
      commentsOf(readFileSync(file, 'utf8'))
        .flatMap(beginnings)
        .filter((sentence) => refusedBeginning.test(sentence))
        .map((sentence) => `${file}: ${sentence}`),
    );
    expect(files.length).to.be.greaterThan(1000);
    expect(found).to.deep.equal([]);
  });
});

describe('the pages of decisions', () => {
  const decisions = globSync('docs/decisions/*.md').map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  const isOfOneDecision = ({ file }: { file: string }) => /\/\d{4}-[^/]+$/.test(file);
  const headings = (text: string) => [...text.matchAll(/^## (.+)$/gm)].map(([, heading = '']) => heading);

  for (const { file, text } of decisions.filter(isOfOneDecision))
    it(`tell context, decision and consequences in ${file}`, () => {
      expect(headings(text)).to.deep.equal(['Context', 'Decision', 'Consequences']);
    });

  it('give each decision a number of its own', () => {
    const ofNouns = decisions.filter((page) => !isOfOneDecision(page) && !page.file.endsWith('README.md'));
    const numbers = ofNouns.flatMap(({ text }) => headings(text)).map((heading) => /^(\d+)\. \S/.exec(heading)?.[1] ?? heading);
    const ofFiles = decisions.filter(isOfOneDecision).map(({ text }) => /^# (\d+)\. /.exec(text)?.[1] ?? text);
    const all = [...numbers, ...ofFiles];

    expect(numbers.length).to.be.greaterThan(100);
    expect(all.filter((number, index) => !/^\d+$/.test(number) || all.indexOf(number) !== index)).to.deep.equal([]);
  });
});
