/** Client of the service, with types from its OpenAPI document. Every failure is thrown as a Problem. */
import { signal } from '@preact/signals';
import createClient from 'openapi-fetch';
import { base } from './address';
import { forgetAhead, sendAhead, takeAhead } from './ahead';
import { away, endAnswer, expectAnswer, probe, silence } from './outage';
import { asProblem, isPage, noAnswer, Problem, problemOf, type StepUp } from './problem';
import type { components, paths } from './schema';
import { inView } from './view';

export { base, storageKey } from './address';

export type Schemas = components['schemas'];

/** Receives refusals: a 401 concerns the session, a 403 the rights. */
export const refusals = new EventTarget();

/** Counts the logins after a session has ended: requests that were refused meanwhile are sent again. */
export const resumed = signal(0);

export class Refusal extends Event {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super('refusal');
    this.problem = problem;
  }
}

let askForLogin: (wanted: StepUp) => Promise<boolean> = () => Promise.resolve(false);

/** Sets the function that asks the user for a fresher login. If it returns true, the refused request is sent again. */
export function setStepUp(ask: typeof askForLogin): void {
  askForLogin = ask;
}

/** @returns whether the request is to be sent again */
async function onRefused(problem: Problem): Promise<boolean> {
  // The session has not ended.
  if (problem.stepUp !== undefined) return askForLogin(problem.stepUp);
  if (problem.status === 401 || problem.status === 403) refusals.dispatchEvent(new Refusal(problem));
  return false;
}

/** Returns a path as `call` takes it. @throws TypeError if it leads to another service */
export function ownPath(path: string): string {
  const { href } = new URL(path.replace(/^\//, ''), base);
  if (!href.startsWith(base.href)) throw new TypeError(`${path} is no path of this service`);
  return href.slice(base.href.length);
}

/** Sends a request like `fetch`, to a path below the base path. Refusals are reported to `refusals`, and returned as answers. */
export async function sendRaw(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(inView(new Request(new URL(ownPath(path), base), init)));
  const isAgain = !response.ok && (await onRefused(await problemOf(response.clone())));
  return isAgain ? sendRaw(path, init) : response;
}

/** Counts the writes: an answer from before a write may be outdated. */
let writes = 0;

export const writesSoFar = (): number => writes;

/** An access review is sent by POST, and changes nothing. */
const isRead = ({ method, url }: Request): boolean => method === 'GET' || url.includes('accessreviews') || url.includes('dryRun=All');

async function send(given: Request): Promise<Response> {
  const request = inView(given);
  if (isRead(request)) return sendOnce(request);
  writes += 1;
  forgetAhead();
  // A write that is not sent is known not to be done.
  if (away.peek() !== undefined && !(await probe())) throw noAnswer().ofWrite(false);
  const wasOnline = navigator.onLine;
  try {
    const response = await sendOnce(request);
    // An answer that is cut says nothing about the write.
    await response.clone().arrayBuffer();
    return response;
  } catch (error) {
    throw given.signal.aborted ? error : asProblem(error).ofWrite(wasOnline);
  }
}

async function sendOnce(request: Request): Promise<Response> {
  // A body can be read once, and the request may have to be sent again.
  const body = await request.arrayBuffer();
  const { signal } = request;
  const response = await answerTo(
    new Request(request, {
      ...(body.byteLength > 0 && { body }),
      // A write that nobody answers may still be done, and its answer arrive.
      ...(isRead(request) && { signal: AbortSignal.any([signal, silence()]) }),
    }),
    signal,
  );
  if (response.ok && !isPage(response)) return response;
  const problem = await problemOf(response);
  if (await onRefused(problem)) return sendOnce(body.byteLength > 0 ? new Request(request, { body }) : request);
  throw problem;
}

/** @param stop signal of the caller */
async function answerTo(request: Request, stop: AbortSignal): Promise<Response> {
  let isThere: boolean | undefined = false;
  expectAnswer();
  try {
    const response = await (takeAhead(request) ?? fetch(request));
    isThere = !isPage(response) && ![502, 503, 504].includes(response.status);
    return response;
  } catch (error) {
    if (!stop.aborted) throw error instanceof Problem ? error : noAnswer();
    isThere = undefined;
    throw error;
  } finally {
    endAnswer(isThere);
  }
}

export const api = createClient<paths>({ baseUrl: base.href.replace(/\/$/, ''), fetch: send });

/**
 * Sends a request that the OpenAPI document does not describe, such as one to the Kubernetes API.
 *
 * @param path below the base path
 */
export const call = (path: string, init?: RequestInit): Promise<Response> => send(new Request(new URL(path, base), init));

/**
 * Sends a GET whose answer the next such call receives.
 *
 * @param path below the base path
 */
export const askAhead = (path: string, Accept = 'application/json'): void =>
  sendAhead(inView(new Request(new URL(path, base), { headers: { Accept } })));

/** Returns the body of an answer: `send` has thrown every failure. */
export async function bodyOf<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
