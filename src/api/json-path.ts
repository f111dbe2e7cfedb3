/**
 * The part of Kubernetes' JSONPath that printer columns use: members, array indexes, `[*]` and `[?(@.member=="text")]`.
 *
 * @see https://kubernetes.io/docs/reference/kubectl/jsonpath/
 */

type Step =
  | { readonly member: string }
  | { readonly index: number }
  | { readonly each: true }
  | { readonly where: readonly string[]; readonly is: string };

export interface JSONPath {
  /** Every member that it names on its way. */
  readonly members: readonly string[];
  /** Texts, numbers and booleans at that place; never an object. */
  values(object: unknown): (string | number | boolean)[];
}

const memberStep = /^\.((?:[\w-]|\\.)+)/;
const quotedStep = /^\[(['"])((?:(?!\1)[^\\]|\\.)+)\1\]/;
const indexStep = /^\[(-?\d{1,6})\]/;
const eachStep = /^\[\*\]/;
const whereStep = /^\[\?\(@((?:\.[\w-]+)+)\s*==\s*(?:"([^"]*)"|'([^']*)')\)\]/;

const unescaped = (text: string) => text.replaceAll(/\\(.)/g, '$1');

/** Undefined for what is none, or for a form that columns do not need. */
export function parseJSONPath(text: string): JSONPath | undefined {
  let rest = text.replace(/^\{(.*)\}$/, '$1').replace(/^\$/, '');
  if (!rest.startsWith('.') && !rest.startsWith('[')) rest = `.${rest}`;
  const steps: Step[] = [];
  while (rest !== '') {
    const found = stepAt(rest);
    if (found === undefined) return undefined;
    steps.push(found.step);
    rest = rest.slice(found.length);
  }
  const members = steps.flatMap((step) => ('member' in step ? [step.member] : 'where' in step ? step.where : []));
  return { members, values: (object) => steps.reduce<unknown[]>(follow, [object]).flatMap(scalars) };
}

/** What no list may show: contents of Secrets and ConfigMaps, environments of containers, and what holds a copy of the whole object. */
const unshown = new Set([
  ...['data', 'binaryData', 'stringData', 'env', 'managedFields'],
  'kubectl.kubernetes.io/last-applied-configuration',
]);

/** Whether a list may show what is at that path. */
export function isShowable(text: string): boolean {
  const path = parseJSONPath(text);
  return path !== undefined && !path.members.some((member) => unshown.has(member));
}

function stepAt(text: string): { step: Step; length: number } | undefined {
  const found = (match: RegExpExecArray | null, step: (match: RegExpExecArray) => Step) =>
    match === null ? undefined : { step: step(match), length: match[0].length };
  return (
    found(memberStep.exec(text), ([, name = '']) => ({ member: unescaped(name) })) ??
    found(quotedStep.exec(text), ([, , name = '']) => ({ member: unescaped(name) })) ??
    found(indexStep.exec(text), ([, digits]) => ({ index: Number(digits) })) ??
    found(eachStep.exec(text), () => ({ each: true })) ??
    found(whereStep.exec(text), ([, path = '', double, single = '']) => ({ where: path.split('.').slice(1), is: double ?? single }))
  );
}

function follow(found: unknown[], step: Step): unknown[] {
  if ('member' in step) return found.flatMap((value) => present(memberOf(value, step.member)));
  const elements = found.filter((value) => Array.isArray(value)) as unknown[][];
  if ('index' in step) return elements.flatMap((array) => present(array.at(step.index)));
  if ('each' in step) return elements.flat();
  return elements.flat().filter((element) => String(step.where.reduce<unknown>(memberOf, element)) === step.is);
}

const memberOf = (value: unknown, member: string): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, member)
    ? Reflect.get(value, member)
    : undefined;

const present = (value: unknown): unknown[] => (value === undefined || value === null ? [] : [value]);

const scalars = (value: unknown): (string | number | boolean)[] => (Array.isArray(value) ? value.flatMap(scalar) : scalar(value));

const scalar = (value: unknown): (string | number | boolean)[] =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [value] : [];
