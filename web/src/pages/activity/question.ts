/** The question of the page, in its address. */
import { instant } from '../../ui/local-time';

/** Length of a period that ends now, in hours, by its word in the address. */
const periods = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 } as const;

/** Actions that a write told, as choices beside the verbs. */
export const actions = ['grant', 'restart', 'scale'] as const;

export type Period = keyof typeof periods;

export const periodWords = Object.keys(periods) as Period[];

const usual: Period = '24h';

/** Words of the address that are no period which ends now. */
type Since = Period | 'all' | 'between';

export const sinceIn = (query: URLSearchParams): Since => {
  const since = query.get('since') ?? '';
  if (query.get('from') || query.get('to')) return 'between';
  return since === 'all' || Object.hasOwn(periods, since) ? (since as Since) : usual;
};

/** Conditions of the address that the service compares as they are. */
const equalNames = [
  'user',
  'actor',
  'actorGroup',
  'verb',
  'subresource',
  'namespace',
  'name',
  'text',
  'session',
  'accessToken',
  'request',
] as const;

export const conditionNames = [...equalNames, 'kind', 'outcome', 'since', 'from', 'to'] as const;

/** Returns the conditions of an address for the service, which refuses those that are malformed. */
export function conditionsIn(query: URLSearchParams, now: number) {
  const equal: Partial<Record<(typeof equalNames)[number], string>> = {};
  for (const name of equalNames) if (query.get(name)) equal[name] = query.get(name) ?? '';
  const outcome = query.get('outcome');
  const { verb, ...others } = equal;
  const isAction = actions.some((action) => action === verb);
  const kind = query.get('kind') ?? '';
  const [resource = '', ...group] = kind.split('.');
  const since = sinceIn(query);
  const [from, to] = [query.get('from'), query.get('to')];
  return {
    ...others,
    ...(verb !== undefined && (isAction ? { action: verb } : { verb })),
    ...(kind && { resource, group: group.join('.') }),
    ...(outcome && { outcome: outcome as 'success' | 'failure' | 'unknown' }),
    ...(since !== 'all' && since !== 'between' && { from: new Date(now - periods[since] * 3_600_000).toISOString() }),
    ...(since === 'between' && from && { from: instant(from) }),
    ...(since === 'between' && to && { to: instant(to) }),
  };
}

export type Conditions = ReturnType<typeof conditionsIn>;
