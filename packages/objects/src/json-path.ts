/**
 * JSONPath of kubectl and of printer columns, without templates (`range`, text between expressions).
 *
 * @see https://kubernetes.io/docs/reference/kubectl/jsonpath/
 */
import { type Path, type Step, valuesAt } from './json-path-steps.ts';

export interface JSONPath {
  /** First member; undefined for a path that may begin with several. */
  readonly root: string | undefined;
  /** All members that the path names. */
  readonly members: readonly string[];
  /** True if the path visits members without their names, by `*` or `..`. */
  readonly visitsAll: boolean;
  /** Returns the values of the path; empty if the object does not fit. */
  values(object: unknown): readonly unknown[];
}

interface Syntax {
  /** Reads a quoted name as one member, including its dots. kubectl reads `['a.b']` as `.a.b`. */
  hasWholeNames?: boolean;
}

const maxLength = 1024;

/** Returns undefined for a text that is not a JSONPath. */
export function parseJSONPath(text: string, { hasWholeNames = false }: Syntax = {}): JSONPath | undefined {
  if (text.length > maxLength) return undefined;
  const bare = text.replace(/^\{(.*)\}$/, '$1');
  const path = new Parser(/^[.[$@]/.test(bare) ? bare : `.${bare}`, hasWholeNames).path(false);
  if (path === undefined || path.length === 0) return undefined;
  const all = path.flatMap(stepsWithin);
  const [first] = path;
  return {
    root: first?.type === 'member' ? first.name : undefined,
    members: all.flatMap((step) => (step.type === 'member' ? [step.name] : [])),
    visitsAll: all.some(({ type }) => type === 'every' || type === 'deep'),
    values: (object) => valuesAt(path, object),
  };
}

function stepsWithin(step: Step): Step[] {
  if (step.type === 'union') return step.paths.flat().flatMap(stepsWithin);
  return step.type === 'filter' ? [...step.left, ...step.right].flatMap(stepsWithin) : [step];
}

/** Members that lists never show: contents of Secrets and ConfigMaps, environments of containers, and copies of the whole object. */
const unshown = new Set([
  ...['data', 'binaryData', 'stringData', 'env', 'managedFields'],
  'kubectl.kubernetes.io/last-applied-configuration',
]);

/** Reports whether lists may show the values of the path, for every resource. */
export const isShowable = ({ members, visitsAll }: JSONPath): boolean => !visitsAll && !members.some((member) => unshown.has(member));

const filterForm = /^\[\?\(((?:[^"'()\n]|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')*)\)\]/;
const memberForm = /^\.((?:[^\\\s.,[\]$@{}]|\\.)+)/u;
const bracketForm = /^\[([^\]\n]*)\]/;
const nameForm = /^'([^']+)'$/;
const sliceForm = /^(-?\d{0,6})(:-?\d{0,6})?(:-?\d{0,6})?$/;
const comparisonForm = /^([^!<>=]+)(==|!=|<=|>=|<|>)([^!<>=].*)$/;
const literalForm = /^(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([-+]?\d+(?:\.\d+)?)(?![\w.])|(true|false)(?![\w.]))/;

class Parser {
  readonly #hasWholeNames: boolean;
  #rest: string;

  constructor(text: string, hasWholeNames: boolean) {
    this.#rest = text;
    this.#hasWholeNames = hasWholeNames;
  }

  /** @param isOperand allows a literal, as an operand of a comparison */
  path(isOperand: boolean): Path | undefined {
    const steps: Step[] = [];
    while (this.#rest !== '') {
      if (this.#take(/^[ $@]/) !== undefined) continue;
      const found = this.#filter() ?? this.#deep(steps) ?? this.#member() ?? this.#bracket() ?? (isOperand ? this.#literal() : undefined);
      if (found === undefined) return undefined;
      steps.push(...found);
    }
    return steps;
  }

  #take(form: RegExp): RegExpExecArray | undefined {
    const match = form.exec(this.#rest);
    if (match === null) return undefined;
    this.#rest = this.#rest.slice(match[0].length);
    return match;
  }

  #parse(text: string, isOperand = false): Path | undefined {
    return new Parser(text, this.#hasWholeNames).path(isOperand);
  }

  #filter(): Path | undefined {
    const [, text] = this.#take(filterForm) ?? [];
    if (text === undefined) return undefined;
    const comparison = comparisonForm.exec(text);
    if (comparison === null && /[!<>=]/.test(text)) return undefined;
    const [, leftText = text, operator, rightText = ''] = comparison ?? [];
    const [left, right] = [this.#parse(leftText, true), this.#parse(rightText, true)];
    if (left === undefined || right === undefined) return undefined;
    return [{ type: 'filter', left, operator, right }];
  }

  #deep(before: Path): Path | undefined {
    if (before.at(-1)?.type === 'deep' || this.#take(/^\.(?=\.)/) === undefined) return undefined;
    // The name follows immediately; otherwise the next step does.
    if (!/^\.[\p{L}\p{N}_]/u.test(this.#rest)) this.#rest = this.#rest.slice(1);
    return [{ type: 'deep' }];
  }

  #member(): Path | undefined {
    const [, name] = this.#take(memberForm) ?? [];
    if (name === undefined) return undefined;
    return [name === '*' ? { type: 'every' } : { type: 'member', name: unescaped(name) }];
  }

  #bracket(): Path | undefined {
    const [, text] = this.#take(bracketForm) ?? [];
    if (text === undefined) return undefined;
    const parts = text.split(',').map((part) => this.#subscript(part.trim()));
    if (parts.some((part) => part === undefined)) return undefined;
    const paths = parts.filter((part) => part !== undefined);
    return paths.length === 1 ? paths[0] : [{ type: 'union', paths }];
  }

  #subscript(text: string): Path | undefined {
    if (text === '*') return [{ type: 'slice' }];
    const [, name] = (this.#hasWholeNames ? /^["'](.+)["']$/ : nameForm).exec(text) ?? [];
    if (name !== undefined) return this.#hasWholeNames ? [{ type: 'member', name: unescaped(name) }] : this.#parse(`.${name}`);
    const [, first, last, step] = sliceForm.exec(text) ?? [];
    if (first === undefined) return undefined;
    const number = (digits: string | undefined) => (digits === undefined || digits === '' ? undefined : Number(digits));
    if (last === undefined) return [{ type: 'index', index: number(first) ?? 0 }];
    return [{ type: 'slice', from: number(first), to: number(last.slice(1)), step: number(step?.slice(1)) }];
  }

  #literal(): Path | undefined {
    const [, double, single, digits, word] = this.#take(literalForm) ?? [];
    const text = double ?? single;
    if (text !== undefined) return [{ type: 'literal', value: unescaped(text) }];
    if (digits !== undefined) return [{ type: 'literal', value: Number(digits), isFloat: digits.includes('.') }];
    return word === undefined ? undefined : [{ type: 'literal', value: word === 'true' }];
  }
}

const unescaped = (text: string): string => text.replaceAll(/\\(.)/g, '$1');
