/**
 * Decoding of a body to an object of a built-in kind: unknown members go, and the first one of a wrong type is refused in the words of
 * Go's decoder.
 *
 * @see https://pkg.go.dev/sigs.k8s.io/json
 */
import type { Shape } from './kind-shapes.ts';
import { isJsonObject, type JsonObject } from './objects.ts';

export interface DecodedKind {
  /** Dotted paths of the members that were dropped. */
  unknownFields: string[];
  refusal: Refusal | undefined;
}

/** Member whose value does not have its type. */
export interface Refusal {
  /** Message of the decoder of JSON. */
  message: string;
  /** Dotted path of the member. */
  path: string;
  /** Type of Go that the member has. */
  goType: string;
  value: unknown;
}

/** Removes nulls and unknown members in place. */
export function decodeKind(shape: Shape, object: JsonObject): DecodedKind {
  const decoding = new Decoding();
  decoding.object(shape, object);
  return { unknownFields: decoding.unknownFields.sort(), refusal: decoding.refusal };
}

/** Bound of the unknown members that are named. */
const mostUnknown = 1000;

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const quantity = /^[+-]?[0-9.]+(?:Ki|Mi|Gi|Ti|Pi|Ei|[numkKMGTPE]?|[eE][-+]?[0-9]+)$/;
const quantityRefusal = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
/** Types of JSON that hold nothing to walk into. */
const plainTypes: Readonly<Partial<Record<Shape['form'], string>>> = {
  ...{ string: 'string', bool: 'boolean', float64: 'number', intOrString: 'string' },
};
const layouts = { time: '2006-01-02T15:04:05Z07:00', microTime: '2006-01-02T15:04:05.000000Z07:00' } as const;

class Decoding {
  readonly unknownFields: string[] = [];
  #first: Refusal | undefined;
  /** Refusal of a type that reads its own JSON: Go's decoder ends with it. */
  #last: Refusal | undefined;
  readonly #steps: (string | number)[] = [];
  readonly #goSteps: string[] = [];
  #struct = '';

  get refusal(): Refusal | undefined {
    return this.#last ?? this.#first;
  }

  object({ name, members }: Shape, object: JsonObject): void {
    const around = this.#struct;
    for (const key of Object.keys(object)) {
      const member = members.get(key);
      const value = object[key];
      this.#steps.push(key);
      if (member === undefined) {
        if (this.unknownFields.length < mostUnknown) this.unknownFields.push(this.#path());
        delete object[key];
      } else if (value === null) delete object[key];
      else {
        this.#struct = name;
        this.#goSteps.push(member.goPath);
        this.#member(member.shape, object, key, value);
        this.#goSteps.pop();
      }
      this.#steps.pop();
    }
    this.#struct = around;
  }

  #member(shape: Shape, parent: JsonObject | unknown[], key: string | number, value: unknown): void {
    const { form } = shape;
    if (form === 'string' ? typeof value === 'string' : form === 'open') return;
    if (form === 'quantity') this.#quantity(parent as JsonObject, key as string, value);
    else this.#value(shape, value);
  }

  /** A number is stored as a text. */
  #quantity(parent: JsonObject, key: string, value: unknown): void {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    if (text.length > 64 || !quantity.test(text) || typeof value === 'boolean') this.#abort('resource.Quantity', value, quantityRefusal);
    else parent[key] = text;
  }

  #value(shape: Shape, value: unknown): void {
    const { form, items } = shape;
    if (form === 'object' && isJsonObject(value)) this.object(shape, value);
    else if (form === 'map' && isJsonObject(value)) this.#map(items as Shape, value);
    else if (form === 'list' && Array.isArray(value)) this.#list(items as Shape, value);
    else if (form === 'int32' || form === 'int64') this.#integer(form, value);
    else if (form === 'intOrString' && typeof value !== 'string') this.#integer('int32', value);
    else if (form === 'bytes' && typeof value === 'string') this.#bytes(shape, value);
    else if (form === 'time' || form === 'microTime') this.#time(layouts[form], value);
    else if (typeof value !== plainTypes[form]) this.#refuse(shape.goType, value);
  }

  #map(items: Shape, map: JsonObject): void {
    for (const [key, value] of Object.entries(map)) {
      if (value === null) {
        delete map[key];
        continue;
      }
      this.#steps.push(key);
      this.#member(items, map, key, value);
      this.#steps.pop();
    }
  }

  #list(items: Shape, list: unknown[]): void {
    for (const [index, value] of list.entries()) {
      if (value === null) continue;
      this.#steps.push(index);
      this.#member(items, list, index, value);
      this.#steps.pop();
    }
  }

  #integer(goType: 'int32' | 'int64', value: unknown): void {
    const bound = goType === 'int32' ? 2 ** 31 : 2 ** 63;
    if (typeof value !== 'number') this.#refuse(goType, value);
    else if (!Number.isInteger(value) || value >= bound || value < -bound) this.#refuse(goType, value, `number ${value}`);
  }

  #bytes(shape: Shape, value: string): void {
    const text = /[\r\n]/.test(value) ? value.replaceAll(/[\r\n]/g, '') : value;
    if (base64.test(text)) return;
    const at = Math.max(value.search(/[^A-Za-z0-9+/]/), 0) || value.length - (value.length % 4);
    this.#first ??= this.#refusal(shape.goType, value, `illegal base64 data at input byte ${at}`);
  }

  #time(layout: string, value: unknown): void {
    if (typeof value !== 'string') this.#abort('string', value, this.#mismatch('string', wordOf(value)));
    else if (Number.isNaN(Date.parse(value)) || !/^\d{4}-\d\d-\d\dT/.test(value)) this.#abort('v1.Time', value, timeRefusal(layout, value));
  }

  #refuse(goType: string, value: unknown, word = wordOf(value)): void {
    this.#first ??= this.#refusal(goType, value, this.#mismatch(goType, word));
  }

  #abort(goType: string, value: unknown, message: string): void {
    this.#last ??= this.#refusal(goType, value, message);
  }

  #refusal(goType: string, value: unknown, message: string): Refusal {
    return { message, path: this.#path(), goType, value };
  }

  #mismatch(goType: string, word: string): string {
    const struct = this.#struct.slice(this.#struct.lastIndexOf('.') + 1);
    return `json: cannot unmarshal ${word} into Go struct field ${struct}.${this.#goSteps.join('.')} of type ${goType}`;
  }

  #path(): string {
    return this.#steps.reduce<string>(
      (path, step) => (typeof step === 'number' ? `${path}[${step}]` : path === '' ? step : `${path}.${step}`),
      '',
    );
  }
}

const wordOf = (value: unknown): string =>
  typeof value === 'boolean' ? 'bool' : Array.isArray(value) ? 'array' : typeof value === 'object' ? 'object' : typeof value;

/** Parts of a layout of Go with their patterns. */
const timeParts: readonly (readonly [string, RegExp])[] = [
  ...[['2006', /^\d{4}/] as const, ['-', /^-/] as const, ['01', /^\d\d/] as const, ['-', /^-/] as const, ['02', /^\d\d/] as const],
  ...[['T', /^T/] as const, ['15', /^\d\d/] as const, [':', /^:/] as const, ['04', /^\d\d/] as const, [':', /^:/] as const],
  ...[['05', /^\d\d(?:\.\d+)?/] as const, ['Z07:00', /^(?:Z|[-+]\d\d:\d\d)$/] as const],
];

/** Names the first part of a time that cannot be read. */
function timeRefusal(layout: string, text: string): string {
  let rest = text;
  for (const [part, pattern] of timeParts) {
    const [found] = pattern.exec(rest) ?? [];
    if (found === undefined)
      return `parsing time ${JSON.stringify(text)} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${part}"`;
    rest = rest.slice(found.length);
  }
  return `parsing time ${JSON.stringify(text)}: day out of range`;
}
