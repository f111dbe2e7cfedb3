/** Access requests of users with a login, for rules about its age. */
import { expect } from 'chai';
import { type ClusterAdmin, eventually, type Manifest } from '../../support/cluster-admin.ts';
import type { EmbeddedLogin } from '../../support/embedded-login.ts';
import type { Browser } from '../identity/browser.ts';
import { policiesPath, type Refusal, type Request, requestsPath, type Told } from './support.ts';

export const password = 'correct horse';

/** Headers of the page of the console in that browser. */
const headersOf = ({ cookies }: Browser): Record<string, string> => ({
  cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
  'sec-fetch-site': 'same-origin',
  'content-type': 'application/json',
});

/** A user with a session. */
export interface Member {
  readonly email: string;
  readonly headers: Record<string, string>;
}

export class SessionRequests {
  readonly #service: EmbeddedLogin;

  constructor(service: EmbeddedLogin) {
    this.#service = service;
  }

  async logIn(email: string): Promise<Member> {
    const { browser } = await this.#service.logIn(email, password);
    return { email, headers: headersOf(browser) };
  }

  /** @param path what follows `/auth/v1/accessrequests` */
  async post({ headers }: Pick<Member, 'headers'>, path: string, body?: unknown, at?: string): Promise<Told<Request & Refusal>> {
    const init = { method: 'POST', headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const answer = await this.#service.request(`/auth/v1/accessrequests${path}`, init, at);
    return { status: answer.status, body: (await answer.json()) as Request & Refusal };
  }

  /** Posts, and requires that the answer is a request. */
  async posted(member: Pick<Member, 'headers'>, path: string, body?: unknown): Promise<Request> {
    const answer = await this.post(member, path, body);
    expect(answer.status, JSON.stringify(answer.body)).to.be.oneOf([200, 201]);
    return answer.body;
  }

  /** Returns the names of the requests that wait for the user. */
  async inbox({ headers }: Member): Promise<string[]> {
    const answer = await this.#service.request('/auth/v1/accessrequests?inbox=true', { headers });
    return ((await answer.json()) as { items: Request[] }).items.map(({ metadata }) => metadata.name);
  }

  /** Creates policies, and waits until each replica lets the users ask. */
  async apply(policies: readonly Manifest[], members: readonly Member[]): Promise<void> {
    await this.#service.admin.apply(...policies);
    for (const { metadata } of policies) {
      await eventually(
        () => this.#service.admin.call('GET', `${policiesPath}/${metadata.name}`),
        ({ body }) => JSON.stringify(body).includes('"type":"Ready"'),
      );
      for (const { headers } of members)
        for (const at of this.#service.urls)
          await eventually(
            () => this.#service.request(`/auth/v1/accesspolicies/${metadata.name}`, { headers }, at),
            ({ status }) => status === 200,
          );
    }
  }

  async stored({ metadata: { name } }: Request): Promise<Request> {
    return (await this.#service.admin.call('GET', `${requestsPath}/${name}`)).body as Request;
  }

  untilPhase(request: Request, phase: string): Promise<Request> {
    return eventually(
      () => this.stored(request),
      ({ status }) => status?.phase === phase,
    );
  }
}

/** Returns the Warning Events of a reason about an object, once there is one. */
export async function warningsOf(admin: ClusterAdmin, uid: string, reason: string): Promise<string[]> {
  const events = async () => {
    const { body } = await admin.call('GET', '/api/v1/namespaces/default/events');
    const { items } = body as { items: { type: string; reason: string; message: string; involvedObject: { uid: string } }[] };
    return items.filter((event) => event.type === 'Warning' && event.reason === reason && event.involvedObject.uid === uid);
  };
  return (await eventually(events, (found) => found.length > 0)).map(({ message }) => message);
}
