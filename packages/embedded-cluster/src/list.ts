/**
 * Lists: selectors, pages that all show the state of the first one, and resource versions.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
import { badRequest, expired, StatusError } from '@atrium/objects/status.ts';
import { checkOptions, limitOf, revisionOf } from './list-options.ts';
import { keyOf, type StoredObject, valueAt } from './objects.ts';
import type { Backend } from './resources.ts';
import { collectionOf } from './resources.ts';
import { type Matcher, matcherOf, type Selection } from './selection.ts';
import type { Store, View } from './store.ts';

export interface ListResult {
  items: StoredObject[];
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
}

/** Time for which a list waits for a version that does not exist yet, as in upstream. */
const futureVersionWaitMs = 3000;

/** Resolves once the store has reached `revision`. @throws StatusError 504 if it does not in time. */
export async function reached(store: Store, revision: number): Promise<void> {
  if (store.revision >= revision) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const unsubscribe = store.subscribe((change) => {
    if (change.revision >= revision) resolve();
  });
  const timer = setTimeout(resolve, futureVersionWaitMs);
  await promise;
  unsubscribe();
  clearTimeout(timer);
  if (store.revision < revision) {
    throw new StatusError(504, 'Timeout', `Timeout: Too large resource version: ${revision}, current: ${store.revision}`, {
      details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }], retryAfterSeconds: 1 },
    });
  }
}

/** Position in a list: the key after which it continues, and the revision of its first page. */
interface ContinueToken {
  /** -1: at the current revision, consistent with nothing before. */
  rv: number;
  start: string;
}

/** @throws StatusError 400, 410, 422 or 504 */
export async function listObjects(backend: Backend, selection: Selection): Promise<ListResult> {
  const { type, namespace, query } = selection;
  const { store } = backend;
  checkOptions(query, { isWatch: false });
  const matcher = matcherOf(selection);
  if (type.computed) return { items: type.computed(backend, namespace).filter(matcher.matches), metadata: {} };
  const limit = limitOf(query);
  const token = continueToken(query);
  const revision = revisionOf(query);
  await reached(store, revision);
  const match = query.get('resourceVersionMatch');
  const isExact = match === 'Exact' || (!match && limit > 0 && revision > 0);
  const at = token ? (token.rv < 0 ? store.revision : token.rv) : isExact ? revision : store.revision;
  const view = store.view(collectionOf(type), { namespace, revision: at, after: token?.start });
  if (!view) throw token ? staleContinue(store, token) : expired('The resourceVersion for the provided list is too old.');
  return page(view, { matcher, limit, at });
}

interface PageOptions {
  matcher: Matcher;
  limit: number;
  at: number;
}

function page({ keys, get }: View, { matcher, limit, at }: PageOptions): ListResult {
  const items: StoredObject[] = [];
  for (const [index, key] of keys.entries()) {
    const object = get(key);
    if (!object || !matcher.matches(object)) continue;
    const last = items.at(-1);
    if (limit > 0 && items.length === limit && last) {
      const next = encodeToken({ rv: at, start: keyOf(last) });
      // Counting the remaining objects of a selector requires looking at all of them, which upstream does not do.
      const remaining = matcher.isSelective ? {} : { remainingItemCount: keys.length - index };
      return { items, metadata: { resourceVersion: String(at), continue: next, ...remaining } };
    }
    items.push(object);
  }
  return { items, metadata: { resourceVersion: String(at) } };
}

function continueToken(query: URLSearchParams): ContinueToken | undefined {
  const text = query.get('continue');
  if (!text) return undefined;
  const version = query.get('resourceVersion') ?? '';
  if (version !== '' && version !== '0') throw badRequest('specifying resource version is not allowed when using continue');
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    const rv = valueAt(value, ['rv']);
    const start = valueAt(value, ['start']);
    if (typeof rv === 'number' && typeof start === 'string') return { rv, start };
  } catch {
    // Refused below, like a token of the wrong shape.
  }
  throw badRequest('invalid continue token: continue key is not valid');
}

const encodeToken = (token: ContinueToken) => Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', ...token })).toString('base64url');

function staleContinue(store: Store, { start }: ContinueToken): StatusError {
  const error = expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
  );
  error.status.metadata = { continue: encodeToken({ rv: -1, start }), resourceVersion: String(store.revision) };
  return error;
}
