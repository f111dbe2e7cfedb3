/** Answers that are requested before the page that shows them has loaded. Each serves one request, within seconds. */

/** A watch that begins at the version of such an answer receives each change since. */
const maxAgeMs = 10_000;

interface Asked {
  answer: Promise<Response>;
  abort: AbortController;
}

const waiting = new Map<string, Asked>();

/** The order of parameters does not matter, and every caller of this reads JSON. */
function keyOf({ url, headers }: Request): string {
  const { pathname, searchParams } = new URL(url);
  searchParams.sort();
  return `${pathname}?${searchParams} ${headers.get('Accept') ?? 'application/json'}`;
}

export function sendAhead(request: Request): void {
  const key = keyOf(request);
  if (waiting.has(key)) return;
  const abort = new AbortController();
  const asked = { answer: fetch(request, { signal: abort.signal }), abort };
  asked.answer.catch(() => undefined);
  waiting.set(key, asked);
  setTimeout(() => {
    if (waiting.get(key) === asked) drop(key, asked);
  }, maxAgeMs);
}

/** Returns the answer to a request that was sent ahead. Aborting the request aborts the answer. */
export function takeAhead(request: Request): Promise<Response> | undefined {
  if (request.method !== 'GET' || waiting.size === 0) return undefined;
  const key = keyOf(request);
  const asked = waiting.get(key);
  if (asked === undefined) return undefined;
  waiting.delete(key);
  const { signal } = request;
  const abort = () => asked.abort.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return asked.answer;
}

/** Drops earlier answers after a write, and for another user. */
export function forgetAhead(): void {
  for (const [key, asked] of waiting) drop(key, asked);
}

/** An answer that no page reads would occupy one of the few connections. */
function drop(key: string, { abort }: Asked): void {
  waiting.delete(key);
  abort.abort();
}
