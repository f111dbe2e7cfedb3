/**
 * Syntax of label keys, label values and object names, with the API server's messages.
 *
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
 */
import { z } from 'zod';

const subdomain = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const qualifiedName = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
/** DNS subdomain (RFC 1123), without its bound of 253 characters. */
export const subdomainPattern = new RegExp(`^${subdomain}$`);
/** DNS label (RFC 1123), without its bound of 63 characters. */
export const labelPattern = new RegExp(`^${label}$`);
const qualifiedNamePattern = new RegExp(`^${qualifiedName}$`);
const labelValuePattern = new RegExp(`^(${qualifiedName})?$`);

const tooLong = (text: string, maximum: number) => (text.length > maximum ? [`must be no more than ${maximum} characters`] : []);

/** Returns the problems of a DNS subdomain (RFC 1123, at most 253 characters). */
export function subdomainProblems(text: string): string[] {
  const problems = tooLong(text, 253);
  if (!subdomainPattern.test(text)) {
    problems.push(
      `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`,
    );
  }
  return problems;
}

/** Returns the problems of a DNS label (RFC 1123, at most 63 characters). */
export function dnsLabelProblems(text: string): string[] {
  const problems = tooLong(text, 63);
  if (!labelPattern.test(text)) {
    problems.push(
      `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`,
    );
  }
  return problems;
}

/** Returns the problems of a label or annotation key, `[prefix/]name`. */
export function labelKeyProblems(key: string): string[] {
  const parts = key.split('/');
  const name = parts.at(-1) ?? '';
  const syntax = `must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${qualifiedName}')`;
  if (parts.length > 2) return [`a valid label key ${syntax} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  const problems: string[] = [];
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    if (prefix === '') problems.push('prefix part must be non-empty');
    else problems.push(...subdomainProblems(prefix).map((problem) => `prefix part ${problem}`));
  }
  if (name === '') problems.push('name part must be non-empty');
  else problems.push(...tooLong(name, 63).map((problem) => `name part ${problem}`));
  if (!qualifiedNamePattern.test(name)) problems.push(`name part ${syntax}`);
  return problems;
}

/** Returns the problems of a label value. */
export function labelValueProblems(value: string): string[] {
  const problems = tooLong(value, 63);
  if (!labelValuePattern.test(value)) {
    problems.push(
      `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${qualifiedName})?')`,
    );
  }
  return problems;
}

const expression = z.object({ key: z.string(), operator: z.string(), values: z.array(z.string()).optional() });

/** @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/label-selector/ */
export const labelSelector = z.object({
  matchLabels: z.record(z.string(), z.string()).optional(),
  matchExpressions: z.array(expression).optional(),
});

/** Returns a selector as a query parameter. '' if a part cannot be read, and for the empty selector. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: z.output<typeof labelSelector>): string {
  const parts = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  for (const { key, operator, values = [] } of matchExpressions) {
    const text = expressionText(key, operator, values);
    if (text === '') return '';
    parts.push(text);
  }
  return parts.join();
}

function expressionText(key: string, operator: string, values: readonly string[]): string {
  if (operator === 'Exists') return key;
  if (operator === 'DoesNotExist') return `!${key}`;
  if (operator === 'In' || operator === 'NotIn') return `${key} ${operator.toLowerCase()} (${values.join()})`;
  return '';
}
