/**
 * The options of lists and watches: which go together, and what they mean when they are left out.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#resourceversion-in-metadata
 */
import { forbidden } from '@atrium/objects/field-error.ts';
import { badRequest, invalid } from '@atrium/objects/status.ts';
import { unclassified } from './exchange.ts';
import { isTrue } from './request-info.ts';

/** @throws StatusError 422 */
export function checkOptions(query: URLSearchParams, { isWatch }: { isWatch: boolean }): void {
  const match = query.get('resourceVersionMatch') ?? '';
  const fits = isWatch
    ? query.has('sendInitialEvents') === (match === 'NotOlderThan')
    : !match || (['Exact', 'NotOlderThan'].includes(match) && query.has('resourceVersion') && !query.get('continue'));
  if (fits) return;
  throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions', name: '' }, [
    forbidden('resourceVersionMatch', 'does not go with the other options'),
  ]);
}

/** A resource version as a number, 0 for none. @throws StatusError 400, or 500 for a watch, as upstream */
export function revisionOf(query: URLSearchParams, { isWatch = false } = {}): number {
  const text = query.get('resourceVersion');
  if (!text) return 0;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const quoted = JSON.stringify(text);
  const problem = `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`;
  throw isWatch ? unclassified(problem) : badRequest(`invalid resource version: ${problem}`);
}

/** 0: no limit. @throws StatusError 400 */
export function limitOf(query: URLSearchParams): number {
  const text = query.get('limit') ?? '0';
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  // Version 0 is answered from memory upstream, whole.
  return query.get('resourceVersion') === '0' && !query.get('continue') ? 0 : Math.max(Number(text), 0);
}

/** `sendInitialEvents`, and the absent version, which asks for the same without saying so. */
export const wantsInitialEvents = (query: URLSearchParams) =>
  query.has('sendInitialEvents') ? isTrue(query.get('sendInitialEvents')) : ['', '0'].includes(query.get('resourceVersion') ?? '');
