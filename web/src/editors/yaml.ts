/**
 * YAML as kubectl reads and prints it: sigs.k8s.io/yaml, with the scalars of YAML 1.1 as go-yaml v2 resolves them. The dialect differs from
 * both versions of the standard: `yes` is true and `0644` octal, while `1:30` and dates are text.
 */
import {
  type Document,
  type DocumentOptions,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  type ParseOptions,
  parseAllDocuments,
  Scalar,
  type ScalarTag,
  type SchemaOptions,
  stringify as toText,
  visit,
  type YAMLMap,
  type YAMLWarning,
} from 'yaml';
import { stringTag } from 'yaml/util';

/** go-yaml takes the underscores out of a text that begins like a number. */
class NumberPattern extends RegExp {
  override test(text: string): boolean {
    return super.test(/^[-+\d]/.test(text) ? text.replaceAll('_', '') : text);
  }
}

const nil: ScalarTag = {
  identify: (value) => value === null || value === undefined,
  default: true,
  tag: 'tag:yaml.org,2002:null',
  test: /^(?:~|null|Null|NULL)?$/,
  resolve: () => null,
  stringify: () => 'null',
};

const bool: ScalarTag = {
  identify: (value) => typeof value === 'boolean',
  default: true,
  tag: 'tag:yaml.org,2002:bool',
  test: /^(?:true|True|TRUE|y|Y|yes|Yes|YES|on|On|ON|false|False|FALSE|n|N|no|No|NO|off|Off|OFF)$/,
  resolve: (text) => /^(?:t|y|on)/i.test(text),
};

const [int64, uint64] = [2n ** 63n, 2n ** 64n];

/**
 * Parses integers like Go's strconv.ParseInt with base 0. Integers out of its range are floats if their digits are decimal, and texts
 * otherwise.
 */
function integerOf(text: string): bigint | number | string {
  const plain = text.replaceAll('_', '');
  const [, sign = '', prefix = '', digits = ''] = /^([-+]?)(0[box]?(?=.))?(.*)$/i.exec(plain) ?? [];
  const size = BigInt(prefix === '0' ? `0o${digits}` : prefix.toLowerCase() + digits);
  const value = sign === '-' ? -size : size;
  if (-int64 <= value && value < int64) return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (sign === '' && value < uint64) return Number(value);
  return /[box]/i.test(prefix) ? text : Number(plain);
}

const int: ScalarTag = {
  identify: (value) => typeof value === 'bigint' || Number.isInteger(value),
  default: true,
  tag: 'tag:yaml.org,2002:int',
  test: new NumberPattern(/^[-+]?(?:0b[01]+|0o?[0-7]+|0x[\da-f]+|[1-9]\d*|0)$/i),
  resolve: integerOf,
  stringify: ({ value }) => String(value),
};

const float: ScalarTag = {
  identify: (value) => typeof value === 'number',
  default: true,
  tag: 'tag:yaml.org,2002:float',
  test: new NumberPattern(/^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:e[-+]?\d+)?$/i),
  resolve(text) {
    const value = Number(text.replaceAll('_', ''));
    return Number.isFinite(value) ? value : text;
  },
  stringify: ({ value }) => String(value),
};

/** JSON has no such numbers, so a document with one is refused. */
const special: ScalarTag = {
  identify: (value) => typeof value === 'number' && !Number.isFinite(value),
  default: true,
  tag: 'tag:yaml.org,2002:float',
  test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.nan|\.NaN|\.NAN)$/,
  resolve: (text) => (text.startsWith('-') ? Number.NEGATIVE_INFINITY : /nan/i.test(text) ? Number.NaN : Number.POSITIVE_INFINITY),
};

const binary: ScalarTag = {
  tag: 'tag:yaml.org,2002:binary',
  resolve: (text) => new TextDecoder().decode(Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0))),
};

const timestamp: ScalarTag = { tag: 'tag:yaml.org,2002:timestamp', resolve: (text) => text };

/** go-yaml merges where `<<` stands: later members win over it, and it wins over earlier ones. In a list the first mapping wins. */
const merge: ScalarTag = {
  identify: () => false,
  default: 'key',
  tag: 'tag:yaml.org,2002:merge',
  test: /^<<$/,
  resolve: () => Object.assign(new Scalar('<<'), { addToJSMap: mergeInto }),
};

function mergeInto(context: ToJSContext | undefined, target: MapLike, value: unknown): void {
  const resolved = isAlias(value) && context ? value.resolve(context.doc, context) : value;
  if (isSeq(resolved)) {
    for (const item of resolved.items.toReversed()) mergeInto(context, target, item);
    return;
  }
  if (!isMap(resolved)) throw new Error('<< takes a mapping, or a list of mappings');
  const source: unknown = resolved.toJSON(undefined, context, Map);
  for (const [key, member] of source as Map<unknown, unknown>) {
    if (target instanceof Map) target.set(key, member);
    else Object.defineProperty(target, String(key), { value: member, writable: true, enumerable: true, configurable: true });
  }
}

type MapLike = Map<unknown, unknown> | Record<string, unknown>;
/** The package does not name this type. */
type ToJSContext = NonNullable<Parameters<YAMLMap['toJSON']>[1]>;

/** Characters that go-yaml refuses or changes unless they are escaped, and a tab at the start of a block. */
const unprintable = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

const text: ScalarTag = {
  ...stringTag,
  stringify: (item, ...context) =>
    typeof item.value === 'string' && (item.value.search(unprintable) >= 0 || /^[ \n]*\t/.test(item.value))
      ? JSON.stringify(item.value).replaceAll(unprintable, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
      : (stringTag.stringify?.(item, ...context) ?? ''),
};

const options: ParseOptions & DocumentOptions & SchemaOptions = {
  schema: 'failsafe',
  customTags: (tags) => [...tags.filter((tag) => tag !== stringTag), text, nil, bool, int, special, float, binary, timestamp, merge],
  resolveKnownTags: false,
  prettyErrors: false,
};

/** Writes a text of several lines as a block, folds no line, and quotes words with another meaning in YAML 1.1. */
export const stringify = (value: unknown): string =>
  toText(value, { ...options, compat: 'yaml-1.1', lineWidth: 0, aliasDuplicateObjects: false, indentSeq: false });

export interface Mistake {
  from: number;
  to: number;
  /** Counted from 1. */
  line: number;
  /** A key that is no text, a value that does not fit its tag, or an error of the parser. */
  what: 'key' | 'tag' | 'syntax';
  message: string;
}

/** First mistake of a text. */
export class YamlError extends Error {
  readonly mistake: Mistake;

  constructor(mistake: Mistake) {
    super(mistake.message);
    this.mistake = mistake;
  }
}

let last: { text: string; documents: Document.Parsed[] } | undefined;

/** Returns the documents of a text. The last text is kept: several checks read it. */
export function documentsIn(text: string): Document.Parsed[] {
  if (last?.text !== text) {
    const documents = parseAllDocuments(text, options);
    last = { text, documents: 'empty' in documents ? [] : documents };
  }
  return last.documents;
}

/** Reports whether a key can be the name of a JSON member. Null, infinities and collections cannot. */
const isKey = (key: unknown): boolean =>
  isAlias(key) || (isScalar(key) && key.value !== null && (typeof key.value !== 'number' || Number.isFinite(key.value)));

const isUnfit = ({ message }: YAMLWarning): boolean => /tag:yaml\.org,2002:(?:int|float|bool|null)\b/.test(message);

function mistakesOf(document: Document.Parsed, text: string): Mistake[] {
  const at = (what: Mistake['what'], [from, to]: readonly [number, number, ...unknown[]], message: string): Mistake => ({
    ...{ from, to, what, message },
    line: text.slice(0, from).split('\n').length,
  });
  const mistakes = [
    ...document.errors.map(({ pos, message }) => at('syntax', pos, message)),
    ...document.warnings.filter(isUnfit).map(({ pos, message }) => at('tag', pos, message)),
  ];
  visit(document, {
    Pair(_, { key }) {
      if (!isKey(key)) mistakes.push(at('key', (isNode(key) && key.range) || [0, 0], 'the key is not a text'));
    },
  });
  return mistakes.sort((a, b) => a.from - b.from);
}

export const mistakesIn = (text: string): Mistake[] => documentsIn(text).flatMap((document) => mistakesOf(document, text));

/**
 * Returns the objects of all documents, without empty documents.
 *
 * @throws YamlError
 */
export function parse(text: string): unknown[] {
  return documentsIn(text)
    .map((document) => {
      const [mistake] = mistakesOf(document, text);
      if (mistake) throw new YamlError(mistake);
      return document.toJS();
    })
    .filter((value) => value !== null && value !== undefined);
}
