/** Speaks to the service, with the types of its own document. Every failure is thrown as a Problem. */
import { signal } from '@preact/signals';
import createClient from 'openapi-fetch';
import { forgetAhead, sendAhead, takeAhead } from './ahead';
import { asProblem, isAbort, type Problem, problemOf, type StepUp } from './problem';
import type { components, paths } from './schema';

export type Schemas = components['schemas'];

/** Where the service is; it wrote its base path into the page. */
export const base = new URL(document.documentElement.dataset.base ?? '/', location.href);

/** Names an entry of the browser's storage. Another installation on the same host has other entries. */
export const storageKey = (name: string): string => `atrium-${name}${base.pathname.replace(/\/$/, '')}`;

/** Told of what was refused: the session of a 401, rights of a 403. */
export const refusals = new EventTarget();

/** Counts the logins after a session has ended: what was refused meanwhile is asked again. */
export const resumed = signal(0);

export class Refusal extends Event {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super('refusal');
    this.problem = problem;
  }
}

let askForLogin: (wanted: StepUp) => Promise<boolean> = () => Promise.resolve(false);

/** Who asks the person for a fresher login. It says whether there is one now: then the request that wanted it is sent again. */
export function setStepUp(ask: typeof askForLogin): void {
  askForLogin = ask;
}

/** @returns whether the request is to be sent again */
async function onRefused(problem: Problem): Promise<boolean> {
  // The session lives on.
  if (problem.stepUp !== undefined) return askForLogin(problem.stepUp);
  if (problem.status === 401 || problem.status === 403) refusals.dispatchEvent(new Refusal(problem));
  return false;
}

/** As `fetch`, for a path below the base path. What is refused is told of, and answered. */
export async function sendRaw(path: string, init?: RequestInit): Promise<Response> {
  const url = new URL(path.replace(/^\//, ''), base);
  if (!url.href.startsWith(base.href)) throw new TypeError(`${path} is no path of this service`);
  const response = await fetch(url, init);
  const isAgain = !response.ok && (await onRefused(await problemOf(response.clone())));
  return isAgain ? sendRaw(path, init) : response;
}

/** Counts the writes: an answer from before one may be old. */
let writes = 0;

export const writesSoFar = (): number => writes;

/** An access review is sent by POST, and changes nothing. */
function noteWrite({ method, url }: Request): void {
  if (method === 'GET' || url.includes('accessreviews')) return;
  writes += 1;
  forgetAhead();
}

async function send(request: Request): Promise<Response> {
  let response: Response;
  noteWrite(request);
  // A body can be read once, and the request may have to be sent again.
  const body = await request.arrayBuffer();
  try {
    response = await (takeAhead(request) ?? fetch(body.byteLength > 0 ? new Request(request, { body }) : request));
  } catch (error) {
    throw isAbort(error) ? error : asProblem(error);
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (await onRefused(problem)) return send(body.byteLength > 0 ? new Request(request, { body }) : request);
  throw problem;
}

export const api = createClient<paths>({ baseUrl: base.href.replace(/\/$/, ''), fetch: send });

/** A request that the document does not describe: the cluster's own API. @param path below the base path */
export const call = (path: string, init?: RequestInit): Promise<Response> => send(new Request(new URL(path, base), init));

/** Sends a GET whose answer the next such call gets. @param path below the base path */
export const askAhead = (path: string, Accept = 'application/json'): void =>
  sendAhead(new Request(new URL(path, base), { headers: { Accept } }));

/** The body of an answer: `send` has thrown all that is none. */
export async function bodyOf<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
