/** Rules of an HTTPRoute as text. Gateway API v1. */

export interface Reference {
  group?: string;
  kind?: string;
  name: string;
  namespace?: string;
  sectionName?: string;
  port?: number;
  weight?: number;
}

interface NamedValue {
  type?: string;
  name: string;
  value: string;
}

interface Match {
  path?: { type?: string; value?: string };
  method?: string;
  headers?: readonly NamedValue[];
  queryParams?: readonly NamedValue[];
}

interface Filter {
  type: string;
  requestRedirect?: { scheme?: string; hostname?: string; port?: number; statusCode?: number };
  urlRewrite?: { hostname?: string };
}

export interface RouteRule {
  matches?: readonly Match[];
  filters?: readonly Filter[];
  backendRefs?: readonly Reference[];
}

export interface RouteSpec {
  parentRefs?: readonly Reference[];
  hostnames?: readonly string[];
  rules?: readonly RouteRule[];
}

const compared = ({ type, name, value }: NamedValue): string => `${name}${type === 'RegularExpression' ? '~' : '='}${value}`;

const pathText = ({ type = 'PathPrefix', value = '/' }: NonNullable<Match['path']> = {}): string =>
  type === 'Exact' ? `= ${value}` : type === 'RegularExpression' ? `~ ${value}` : `${value.replace(/\/$/, '')}/*`;

/** `GET /cart/* version=2 ?beta=1`. A rule without a match, and a match without a path, take every path. */
export const matchText = ({ method, path, headers = [], queryParams = [] }: Match): string =>
  [method, pathText(path), ...headers.map(compared), ...queryParams.map((parameter) => `?${compared(parameter)}`)]
    .filter(Boolean)
    .join(' ');

export function filterText({ type, requestRedirect: redirect, urlRewrite }: Filter): string {
  if (redirect) {
    const port = redirect.port === undefined ? '' : `:${redirect.port}`;
    return `${type} ${redirect.statusCode ?? 302} ${redirect.scheme ? `${redirect.scheme}://` : ''}${redirect.hostname ?? ''}${port}`.trim();
  }
  return urlRewrite?.hostname ? `${type} ${urlRewrite.hostname}` : type;
}

/** Returns the targets of a rule with their shares of its requests: by weight, which is 1 unless it is set. */
export function backendsOf({ backendRefs = [] }: RouteRule): { reference: Reference; share: number }[] {
  const total = backendRefs.reduce((sum, { weight = 1 }) => sum + weight, 0);
  return backendRefs.map((reference) => ({ reference, share: total === 0 ? 0 : (reference.weight ?? 1) / total }));
}
