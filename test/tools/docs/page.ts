/** A page of the documentation: its commands, their place, and their output as the page shows it. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { lexer, type Token } from 'marked';
import { z } from 'zod';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/**
 * Place of commands, set by `<!-- docs: demo -->`, `<!-- docs: cluster -->` or `<!-- docs: skip: REASON -->` up to the next such comment.
 * Pages share a demo, except for pages with `<!-- docs: own demo -->`, which end objects that other pages need.
 */
type Place = { on: 'demo' | 'own demo' | 'cluster' } | { skip: string };

export interface Commands {
  line: number;
  text: string;
  place: Place | undefined;
  /** Lines that the page shows below the commands, in a block such as ```json output. */
  shown: readonly string[];
}

interface Block {
  line: number;
  text: string;
  /** First word after the fence; undefined for indented code. */
  language: string | undefined;
  isOutput: boolean;
  place: Place | undefined;
}

export interface Page {
  path: string;
  blocks: readonly Block[];
  commands: readonly Commands[];
}

const marker = /^<!-- docs: (?:(?<on>demo|own demo|cluster)|skip: (?<skip>.+)) -->\s*$/;

/** Returns README.md and all pages of docs/. Decision pages are history, not instructions. */
export const pages = (): Page[] =>
  ['README.md', ...readdirSync(`${root}docs`).map((name) => `docs/${name}`)]
    .filter((path) => path.endsWith('.md'))
    .map((path) => parsePage(path, readFileSync(`${root}${path}`, 'utf8')));

export function parsePage(path: string, text: string): Page {
  let line = 1;
  let place: Place | undefined;
  const blocks: Block[] = [];
  const read = (token: Token) => {
    if (token.type === 'html') place = placeOf(token.raw) ?? place;
    if (token.type === 'code') blocks.push({ ...codeOf(token), line, place });
    if (token.type === 'list') for (const item of token.items) item.tokens.forEach(read);
  };
  for (const token of lexer(text)) {
    read(token);
    line += token.raw.split('\n').length - 1;
  }
  const commands = blocks.flatMap((block, index) => (block.language === 'sh' ? [{ ...block, shown: shownBelow(blocks, index) }] : []));
  return { path, blocks, commands };
}

function placeOf(comment: string): Place | undefined {
  const { on, skip } = marker.exec(comment)?.groups ?? {};
  if (on === 'demo' || on === 'own demo' || on === 'cluster') return { on };
  return skip === undefined ? undefined : { skip };
}

const codeToken = z.object({ text: z.string(), lang: z.string().default(''), codeBlockStyle: z.literal('indented').optional() });

function codeOf(token: Token) {
  const { text, lang, codeBlockStyle } = codeToken.parse(token);
  const [language = '', use] = lang.split(/\s+/);
  return { text, language: codeBlockStyle === 'indented' ? undefined : language, isOutput: use === 'output' };
}

function shownBelow(blocks: readonly Block[], index: number): string[] {
  const { isOutput, text } = blocks[index + 1] ?? {};
  return isOutput === true ? (text ?? '').split('\n') : [];
}
