/** Quantities of Kubernetes, such as `100m` and `1.5Gi`, as numbers. */

const pattern = /^([-+]?(?:\d+(?:\.\d*)?|\.\d+))(?:(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E)|[eE]([-+]?\d{1,3}))?$/;
const factors: ReadonlyMap<string, number> = new Map([
  ...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((suffix, index) => [suffix, 1024 ** (index + 1)] as const),
  ...['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'].map((suffix, index) => [suffix, 1000 ** (index - 3)] as const),
]);
/** Bound of a quantity in characters. */
const longest = 64;

/**
 * Returns the value of `100m`, `1.5Gi` or `2e3`; undefined for a text that is not a quantity, or too large for a number, such as `1e400`.
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
export function quantityOf(text: string): number | undefined {
  if (text.length > longest) return undefined;
  const [found, digits, suffix = '', exponent = '0'] = pattern.exec(text) ?? [];
  if (found === undefined) return undefined;
  const value = Number(`${digits}e${exponent}`) * (factors.get(suffix) ?? 1);
  return Number.isFinite(value) ? value : undefined;
}
