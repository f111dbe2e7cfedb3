/**
 * Label and field selectors of query parameters. Refuses the same selectors as the API server, with the same messages.
 *
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/
 */

import { cut } from './field-error.ts';
import { labelKeyProblems, labelValueProblems } from './labels.ts';
import { badRequest } from './status.ts';

export type LabelMatcher = (labels: Readonly<Record<string, string>>) => boolean;

type TokenKind = 'identifier' | 'end' | '!' | '=' | '==' | '!=' | '(' | ')' | ',' | '<' | '>' | 'in' | 'notin';

interface Token {
  kind: TokenKind;
  text: string;
}

const symbols: ReadonlySet<string> = new Set(['!', '=', '==', '!=', '(', ')', ',', '<', '>']);
const isSymbol = (text: string): text is TokenKind => symbols.has(text);
const isSymbolCharacter = (character: string) => '=!(),<>'.includes(character);
const isSpace = (character: string) => ' \t\r\n'.includes(character);

/** Bound of a selector in characters. Most proxies refuse a longer request line. */
export const maxSelectorLength = 8192;
/** Bound of requirements, each of which is evaluated for every object. */
const maxRequirements = 100;
/** Bound of the caller's text in a message, in characters. */
const maxShown = 256;

/** @throws StatusError 400 */
export function checkSelectorLength(text: string): void {
  if (text.length > maxSelectorLength) throw badRequest(`must have at most ${maxSelectorLength} characters`);
}

function checkRequirements(count: number): void {
  if (count > maxRequirements) throw badRequest(`must have at most ${maxRequirements} requirements`);
}

const shown = (text: string) => cut(text, maxShown);

/** Returns the longest operator at `start`. Each character of an operator is itself an operator. */
function symbolAt(text: string, start: number): Token {
  const [one, two] = [text.charAt(start), text.slice(start, start + 2)];
  const kind = isSymbol(two) ? two : (one as TokenKind);
  return { kind, text: kind };
}

function wordAt(text: string, start: number): Token {
  let end = start;
  while (end < text.length && !isSpace(text.charAt(end)) && !isSymbolCharacter(text.charAt(end))) end += 1;
  const word = text.slice(start, end);
  return { kind: word === 'in' || word === 'notin' ? word : 'identifier', text: word };
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    if (isSpace(text.charAt(at))) {
      at += 1;
      continue;
    }
    const token = isSymbolCharacter(text.charAt(at)) ? symbolAt(text, at) : wordAt(text, at);
    tokens.push(token);
    at += token.text.length;
  }
  return tokens;
}

const end: Token = { kind: 'end', text: '' };
const found = (token: Token, expected: string) =>
  badRequest(`unable to parse requirement: found '${shown(token.text)}', expected: ${expected}`);
const invalidValue = (field: string, value: string, problem: string) =>
  badRequest(`unable to parse requirement: ${shown(field)}: Invalid value: ${shown(value)}: ${problem}`);

/** Returns an own label, and nothing from the prototype. */
const labelOf = (labels: Readonly<Record<string, string>>, key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);

/** Parses like `strconv.ParseInt`, which the API server uses. Returns undefined for more than 64 bits. */
function int64(text: string): bigint | undefined {
  if (!/^[+-]?\d{1,63}$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

class LabelSelectorParser {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(text: string) {
    checkSelectorLength(text);
    this.#tokens = tokensOf(text);
  }

  parse(): LabelMatcher[] {
    const requirements: LabelMatcher[] = [];
    for (;;) {
      const next = this.#peek();
      if (next.kind === 'end') return requirements;
      if (next.kind !== 'identifier' && next.kind !== '!')
        throw badRequest(`found '${shown(next.text)}', expected: !, identifier, or 'end of string'`);
      requirements.push(this.#requirement());
      checkRequirements(requirements.length);
      const separator = this.#take();
      if (separator.kind === 'end') return requirements;
      if (separator.kind !== ',') throw badRequest(`found '${shown(separator.text)}', expected: ',' or 'end of string'`);
      const after = this.#peek();
      if (after.kind !== 'identifier' && after.kind !== '!')
        throw badRequest(`found '${shown(after.text)}', expected: identifier after ','`);
    }
  }

  /** Returns the next token. `in` and `notin` are operators only after a key; elsewhere they are identifiers. */
  #peek(): Token {
    const token = this.#tokens[this.#next] ?? end;
    return token.kind === 'in' || token.kind === 'notin' ? { kind: 'identifier', text: token.text } : token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#next += 1;
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
    const operator = this.#tokens[this.#next] ?? end;
    this.#next += 1;
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
    const bound = int64(text);
    if (bound === undefined)
      throw invalidValue('values[0]', JSON.stringify(text), "for 'Gt', 'Lt' operators, the value must be an integer");
    return (labels) => {
      const value = int64(labelOf(labels, key) ?? '');
      if (value === undefined) return false;
      return operator === '<' ? value < bound : value > bound;
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
    if (open.kind !== '(') throw badRequest(`unable to parse requirement: found '${shown(open.text)}' expected: '('`);
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
 * Parses a label selector, equality-based or set-based, into a function over the labels of an object.
 * @throws StatusError 400 for invalid syntax, keys or values.
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

/** Splits at commas without a backslash before them. */
const termsOf = (text: string): string[] => text.match(/(?:\\.|[^,\\]|\\$)+/gs) ?? [];

function unescaped(value: string): string {
  const bad = /\\(?![\\,=])./s.exec(value)?.[0] ?? /(?<!\\)(?:\\\\)*(\\)$/.exec(value)?.[1];
  if (bad !== undefined) throw badRequest(`invalid field selector: invalid escape sequence: ${bad}`);
  const bare = value.replaceAll(/\\[\\,=]/g, '');
  const stray = /[,=]/.exec(bare)?.[0];
  if (stray !== undefined) throw badRequest(`invalid field selector: unescaped character in value: ${stray}`);
  return value.replaceAll(/\\([\\,=])/g, '$1');
}

/**
 * Parses a field selector into requirements, all of which must hold. In values `\,`, `\=` and `\\` are escapes.
 * @throws StatusError 400 for invalid syntax; the caller checks which fields are selectable.
 */
export function parseFieldSelector(text: string): FieldRequirement[] {
  checkSelectorLength(text);
  const terms = termsOf(text);
  checkRequirements(terms.length);
  return terms.map((term) => {
    const match = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
    if (!match) throw badRequest(`invalid selector: '${shown(text)}'; can't understand '${shown(term)}'`);
    const [, field = '', operator, value = ''] = match;
    return { field, operator: operator === '!=' ? '!=' : '=', value: unescaped(value) };
  });
}
