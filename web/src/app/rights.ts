/** Permissions of the caller. The cluster decides; a page requests all that it needs at once. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, bodyOf, Refusal, refusals, resumed, type Schemas } from '../api/client';
import { refetch } from '../api/load';
import { Retry } from '../api/outage';
import { asProblem, type Problem } from '../api/problem';
import { viewed } from '../api/view';

export interface Right {
  verb: string;
  /** Default: the group of users, bindings and sessions. `''` is the core group. */
  group?: string;
  resource: string;
  subresource?: string;
  name?: string;
  namespace?: string;
}

const ownGroup = 'auth.platform.io';
const batchSize = 100;

/** Answers for this user, by question. */
const answers = signal<ReadonlyMap<string, boolean>>(new Map());

const keyOf = (right: Right) => JSON.stringify(withGroup(right));

export const withGroup = ({ group = ownGroup, ...right }: Right): Right & { group: string } => ({ group, ...right });

/** Failure to reach the cluster. */
export const rightsProblem = signal<Problem>();

export const forgetRights = (): void => {
  answers.value = new Map();
  askedAhead.clear();
};

/** Callbacks of the parts that are shown. */
const shown = new Set<() => void>();
const retry = new Retry(() => {
  for (const ask of shown) ask();
});

let queue: Map<string, Right> | undefined;
let sending: Promise<void> = Promise.resolve();

/** Reviews rights. Parts of a page that call it at the same time share one request. */
export function askRights(rights: readonly Right[]): Promise<void> {
  if (queue === undefined) {
    const mine = new Map<string, Right>();
    queue = mine;
    sending = Promise.resolve().then(() => {
      queue = undefined;
      return askNow([...mine.values()]);
    });
  }
  for (const right of rights) queue.set(keyOf(right), right);
  return sending;
}

/** Rights that were requested ahead for the next page. The first use of each sends no request. */
const askedAhead = new Set<string>();

export function askRightsAhead(rights: readonly Right[]): void {
  askedAhead.clear();
  for (const right of rights) askedAhead.add(keyOf(right));
  void askRights(rights);
}

async function askNow(rights: readonly Right[]): Promise<void> {
  try {
    await askAll(rights);
    rightsProblem.value = undefined;
    retry.succeeded();
  } catch (error) {
    for (const right of rights) askedAhead.delete(keyOf(right));
    const problem = asProblem(error);
    rightsProblem.value = problem;
    if (problem.isOutage) retry.plan(problem);
  }
}

async function askAll(rights: readonly Right[]): Promise<void> {
  for (let from = 0; from < rights.length; from += batchSize) {
    const batch = rights.slice(from, from + batchSize);
    const body = {
      kind: 'SelfSubjectAccessReviewList' as const,
      items: batch.map((right) => ({ spec: { resourceAttributes: withGroup(right) } })),
    };
    const answer = (await bodyOf(api.POST('/auth/v1/selfsubjectaccessreviews', { body }))) as Schemas['SelfSubjectAccessReviewList'];
    const found = batch.map((right, index) => [keyOf(right), answer.items[index]?.status.allowed === true] as const);
    // Another map would render each page that reads a right again.
    if (found.some(([key, isAllowed]) => answers.value.get(key) !== isAllowed)) answers.value = new Map([...answers.value, ...found]);
  }
}

const reads = ['get', 'list', 'watch'];

/** Reports whether a right is missing because a view only reads. */
export const isRefusedByView = ({ verb }: Right): boolean => viewed.value !== undefined && !reads.includes(verb);

/** Returns undefined until the answer is known. Reading it subscribes. */
export const may = (right: Right): boolean | undefined => (isRefusedByView(right) ? false : answers.value.get(keyOf(right)));

/** Counts the changes of access that reach the console. */
const changes = signal(0);

/**
 * Requests the rights and explanations that the page shows again, after access has begun or ended. The cluster follows role bindings by a
 * watch, so it is asked again a moment later.
 */
export function refreshRights(): void {
  const again = () => {
    changes.value += 1;
    void refetch('why/', 'options/');
  };
  again();
  for (const delay of settleMs) setTimeout(again, delay);
}

const settleMs = [2000, 10_000];

/**
 * Requests rights when the page appears, when the window regains focus, after a refusal, and by `refreshRights`. Known answers stay in
 * effect meanwhile.
 */
export function useRights(rights: readonly Right[]): void {
  const key = rights.map(keyOf).join();
  useEffect(() => {
    if (rights.length === 0) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const again = () => {
      clearTimeout(timer);
      timer = setTimeout(() => void askRights(rights), 200);
    };
    const askNow = () => void askRights(rights);
    shown.add(askNow);
    const unasked = rights.filter((right) => !askedAhead.delete(keyOf(right)));
    if (unasked.length > 0) void askRights(unasked);
    const onRefusal = (event: Event) => {
      // While a password change is due, reviews are refused themselves: repeating them would never end.
      if (event instanceof Refusal && event.problem.status === 403 && event.problem.causes.length === 0) again();
    };
    addEventListener('focus', again);
    refusals.addEventListener('refusal', onRefusal);
    return () => {
      clearTimeout(timer);
      shown.delete(askNow);
      removeEventListener('focus', again);
      refusals.removeEventListener('refusal', onRefusal);
    };
  }, [key, resumed.value, changes.value]);
}

/** Explains a decision in the words of the cluster: the bindings that allow it, or the roles that would. */
export async function explain(right: Right, signal?: AbortSignal): Promise<Schemas['AccessStatus']> {
  const body = { spec: { resourceAttributes: withGroup(right) } };
  const parameters = { params: { query: { explain: true } }, body, ...(signal && { signal }) };
  const review = (await bodyOf(api.POST('/auth/v1/selfsubjectaccessreviews', parameters))) as Schemas['SelfSubjectAccessReview'];
  return review.status;
}

/** Formats a right as kubectl would: `list users.auth.platform.io -n shop`. */
export const inWords = ({ verb, group = ownGroup, resource, subresource, name, namespace }: Right): string =>
  [verb, `${resource}${subresource ? `/${subresource}` : ''}${group && `.${group}`}`, name, namespace && `-n ${namespace}`]
    .filter(Boolean)
    .join(' ');
