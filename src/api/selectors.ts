/**
 * Label and field selectors as query parameters carry them. What the API server refuses is refused here in the same words.
 *
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/
 */

import { labelKeyProblems, labelValueProblems } from './label-syntax.ts';
import { badRequest } from './status.ts';

export type LabelMatcher = (labels: Readonly<Record<string, string>>) => boolean;

type TokenKind = 'identifier' | 'end' | 'error' | '!' | '=' | '==' | '!=' | '(' | ')' | ',' | '<' | '>' | 'in' | 'notin';

interface Token {
  kind: TokenKind;
  text: string;
}

const symbols: ReadonlySet<string> = new Set(['!', '=', '==', '!=', '(', ')', ',', '<', '>']);
const isSymbol = (text: string): text is TokenKind => symbols.has(text);
const isSymbolCharacter = (character: string) => '=!(),<>'.includes(character);
const isSpace = (character: string) => ' \t\r\n'.includes(character);

/** Takes the longest operator, as far as the characters still add up to one. */
function symbolAt(text: string, start: number): Token {
  let end = start;
  while (end < text.length && isSymbolCharacter(text.charAt(end))) end += 1;
  for (const length of [2, 1]) {
    const candidate = text.slice(start, Math.min(start + length, end));
    if (candidate.length === length && isSymbol(candidate)) return { kind: candidate, text: candidate };
  }
  return { kind: 'error', text: text.slice(start, end) };
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    if (isSpace(text.charAt(at))) {
      at += 1;
      continue;
    }
    if (isSymbolCharacter(text.charAt(at))) {
      const token = symbolAt(text, at);
      tokens.push(token);
      at += token.text.length;
      continue;
    }
    const start = at;
    while (at < text.length && !isSpace(text.charAt(at)) && !isSymbolCharacter(text.charAt(at))) at += 1;
    const word = text.slice(start, at);
    tokens.push({ kind: word === 'in' || word === 'notin' ? word : 'identifier', text: word });
  }
  return [...tokens, { kind: 'end', text: '' }];
}

const end: Token = { kind: 'end', text: '' };
const found = (token: Token, expected: string) => badRequest(`unable to parse requirement: found '${token.text}', expected: ${expected}`);
const invalidValue = (field: string, value: string, problem: string) =>
  badRequest(`unable to parse requirement: ${field}: Invalid value: ${value}: ${problem}`);

/** Not what an object has from its prototype. */
const labelOf = (labels: Readonly<Record<string, string>>, key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);

class LabelSelectorParser {
  readonly #tokens: Token[];

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  parse(): LabelMatcher[] {
    const requirements: LabelMatcher[] = [];
    for (;;) {
      const next = this.#peek();
      if (next.kind === 'end') return requirements;
      if (next.kind !== 'identifier' && next.kind !== '!')
        throw badRequest(`found '${next.text}', expected: !, identifier, or 'end of string'`);
      requirements.push(this.#requirement());
      const separator = this.#take();
      if (separator.kind === 'end') return requirements;
      if (separator.kind !== ',') throw badRequest(`found '${separator.text}', expected: ',' or 'end of string'`);
      const after = this.#peek();
      if (after.kind !== 'identifier' && after.kind !== '!') throw badRequest(`found '${after.text}', expected: identifier after ','`);
    }
  }

  /** `in` and `notin` are operators behind a key only; elsewhere they are words like any other. */
  #peek(): Token {
    const token = this.#tokens[0] ?? end;
    return token.kind === 'in' || token.kind === 'notin' ? { kind: 'identifier', text: token.text } : token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#tokens.shift();
    return token;
  }

  #requirement(): LabelMatcher {
    let token = this.#take();
    const isNegated = token.kind === '!';
    if (isNegated) token = this.#take();
    if (token.kind !== 'identifier') throw found(token, 'identifier');
    const key = token.text;
    const problems = labelKeyProblems(key);
    if (problems.length > 0) throw invalidValue('<nil>', JSON.stringify(key), problems.join('; '));
    if (isNegated) return (labels) => !Object.hasOwn(labels, key);
    const next = this.#peek();
    if (next.kind === 'end' || next.kind === ',') return (labels) => Object.hasOwn(labels, key);
    return this.#comparison(key);
  }

  #comparison(key: string): LabelMatcher {
    const operator = this.#tokens.shift() ?? end;
    switch (operator.kind) {
      case '=':
      case '==':
      case 'in': {
        const values = this.#values(key, operator);
        return (labels) => values.has(labelOf(labels, key));
      }
      case '!=':
      case 'notin': {
        const values = this.#values(key, operator);
        return (labels) => !values.has(labelOf(labels, key));
      }
      case '<':
      case '>':
        return this.#order(key, operator.kind);
      default:
        throw found(operator, 'in, notin, =, ==, !=, gt, lt');
    }
  }

  #values(key: string, operator: Token): ReadonlySet<string | undefined> {
    const values = new Set(operator.text.endsWith('in') ? this.#list() : [this.#exact()]);
    if (values.size === 0) throw invalidValue('values', '[]', "for 'in', 'notin' operators, values set can't be empty");
    [...values].forEach((value, index) => {
      const problems = labelValueProblems(value);
      if (problems.length > 0) throw invalidValue(`values[${index}][${key}]`, JSON.stringify(value), problems.join('; '));
    });
    return values;
  }

  #order(key: string, operator: '<' | '>'): LabelMatcher {
    const text = this.#exact();
    if (!/^[+-]?\d+$/.test(text))
      throw invalidValue('values[0]', JSON.stringify(text), "for 'Gt', 'Lt' operators, the value must be an integer");
    const bound = BigInt(text);
    return (labels) => {
      const label = labelOf(labels, key);
      if (label === undefined || !/^[+-]?\d+$/.test(label)) return false;
      return operator === '<' ? BigInt(label) < bound : BigInt(label) > bound;
    };
  }

  #exact(): string {
    const next = this.#peek();
    if (next.kind === 'end' || next.kind === ',') return '';
    const token = this.#take();
    if (token.kind !== 'identifier') throw found(token, 'identifier');
    return token.text;
  }

  #list(): string[] {
    const open = this.#take();
    if (open.kind !== '(') throw badRequest(`unable to parse requirement: found '${open.text}' expected: '('`);
    if (this.#peek().kind === ')') {
      this.#take();
      return [];
    }
    const values: string[] = [];
    for (;;) {
      const isEmpty = this.#peek().kind === ',' || this.#peek().kind === ')';
      if (!isEmpty && this.#peek().kind !== 'identifier') throw found(this.#peek(), "',', or identifier");
      values.push(isEmpty ? '' : this.#take().text);
      const separator = this.#take();
      if (separator.kind === ')') return values;
      if (separator.kind !== ',') throw found(separator, "',' or ')'");
    }
  }
}

/**
 * A label selector, equality based or set based, as a function over the labels of an object.
 * @throws StatusError 400 for bad grammar, keys or values.
 */
export function parseLabelSelector(text: string): LabelMatcher {
  const requirements = new LabelSelectorParser(text).parse();
  return (labels) => requirements.every((matches) => matches(labels));
}

export interface FieldRequirement {
  field: string;
  operator: '=' | '!=';
  value: string;
}

/** Splits at commas that no backslash stands before. */
function termsOf(text: string): string[] {
  return (text.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? []).filter((term) => term !== '');
}

function unescaped(value: string): string {
  const bad = /\\(?![\\,=])./s.exec(value)?.[0] ?? /(?<!\\)(?:\\\\)*(\\)$/.exec(value)?.[1];
  if (bad !== undefined) throw badRequest(`invalid field selector: invalid escape sequence: ${bad}`);
  const bare = value.replaceAll(/\\[\\,=]/g, '');
  const stray = /[,=]/.exec(bare)?.[0];
  if (stray !== undefined) throw badRequest(`invalid field selector: unescaped character in value: ${stray}`);
  return value.replaceAll(/\\([\\,=])/g, '$1');
}

/**
 * The requirements of a field selector, all of which must hold. In values `\,`, `\=` and `\\` stand for the character.
 * @throws StatusError 400 for bad grammar; whether a field can be selected by, the caller knows.
 */
export function parseFieldSelector(text: string): FieldRequirement[] {
  return termsOf(text).map((term) => {
    const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
    if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, field = '', operator, value = ''] = match;
    return { field, operator: operator === '!=' ? '!=' : '=', value: unescaped(value) };
  });
}
