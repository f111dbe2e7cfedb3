import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { Passwords } from '../../../src/users/passwords/passwords.ts';
import { passwordSecret } from '../../../src/users/passwords/secret.ts';
import { Browser } from '../../service/identity/browser.ts';
import { type Answer, type recordOf, send } from '../../service/login/linking.ts';
import { sessionPath } from '../../service/sessions/support.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { type EmbeddedLogin, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { listen, stopListening } from '../../support/listening.ts';
import { answerOf } from './console.ts';
import { asksForPassword, KeycloakBrowser } from './page.ts';
import { clientSecret, codeClient, type Person, password, type Realm } from './realm.ts';
import type { Suite } from './suite.ts';

/** Client of this suite, with its own redirect URLs. */
const clientID = 'atrium-beside';
export const sessionCookie = '__Host-atrium_session_';
const events = z.array(z.object({ type: z.string() }));

interface LogIn {
  storage?: 'cookie' | 'local';
  browser?: Browser;
  /** Browser with cookies of Keycloak. */
  issuer?: KeycloakBrowser;
  /** Parameters of the login request. */
  parameters?: Record<string, string>;
}

/** A login up to the answer of the callback. */
export interface Visit extends Answer {
  browser: Browser;
}

/** A console with logins at two issuers: the embedded one, `local`, and Keycloak, `corp`. */
export class KeycloakBeside {
  readonly service: EmbeddedLogin;
  readonly realm: Realm;
  readonly #relay: LogoutRelay;

  private constructor(service: EmbeddedLogin, realm: Realm, relay: LogoutRelay) {
    this.service = service;
    this.realm = realm;
    this.#relay = relay;
  }

  /** @param emails of the local users */
  static async start(all: Suite, emails: readonly string[]): Promise<KeycloakBeside> {
    const realm = all.realm('impersonate');
    const corp = {
      id: 'corp',
      name: 'Example Corp',
      issuer: realm.issuer,
      clientID,
      clientSecretFile: await all.file('secret-beside', clientSecret),
      caFile: await all.file('ca-beside.crt', all.keycloak.certificateAuthority),
      scopes: ['openid', 'profile', 'email', 'groups'],
      emailDomains: [`${realm.name}.test`],
      claims: { usernamePrefix: 'corp:', groupsPrefix: 'corp:' },
    };
    const service = await startEmbeddedLogin({ emails, password, credentials: 'impersonate', issuers: [corp] });
    const relay = new LogoutRelay(service);
    const attributes = {
      ...codeClient.attributes,
      'backchannel.logout.url': await relay.start(),
      'backchannel.logout.session.required': 'true',
    };
    await realm.create('clients', { clientId: clientID, ...codeClient, redirectUris: [`${service.url}/`], attributes });
    const enabledEventTypes = ['CODE_TO_TOKEN', 'REFRESH_TOKEN', 'REVOKE_GRANT'].flatMap((type) => [type, `${type}_ERROR`]);
    await realm.admin('PUT', '/events/config', { eventsEnabled: true, enabledEventTypes });
    return new KeycloakBeside(service, realm, relay);
  }

  /** Statuses of the service's answers to logouts of Keycloak, with the newest at the end. */
  get logouts(): readonly number[] {
    return this.#relay.answers;
  }

  newBrowser(): Browser {
    const { url, dispatcher } = this.service;
    return new Browser(url, [url], { dispatcher });
  }

  get(browser: Browser, path: string): Promise<Answer> {
    return send(this, browser, 'GET', path);
  }

  /** Logs in at Keycloak, from the address of a login or a link. @returns the parameters of the redirect */
  async atKeycloak(address: string, person: Person, issuer = new KeycloakBrowser(this.realm.keycloak)): Promise<URLSearchParams> {
    const page = await issuer.get(address);
    return answerOf(asksForPassword(page) ? await issuer.submit(page, { username: person.username, password }) : page);
  }

  async begin(person: Person, { storage = 'cookie', browser = this.newBrowser(), issuer, parameters = { issuer: 'corp' } }: LogIn = {}) {
    const begun = await this.get(browser, `/api/v2/token/login?${new URLSearchParams({ token_storage: storage, ...parameters })}`);
    const address = addressOf(begun);
    return { browser, address, answer: await this.atKeycloak(address, person, issuer) };
  }

  callback(browser: Browser, answer: URLSearchParams): Promise<Answer> {
    return this.get(browser, `/api/v2/token/callback?${answer}`);
  }

  async logInAtCorp(person: Person, options: LogIn = {}): Promise<Visit & { address: string; answer: URLSearchParams }> {
    const begun = await this.begin(person, options);
    return { ...begun, ...(await this.callback(begun.browser, begun.answer)) };
  }

  /** Logs in at the embedded issuer, up to its answer or to its refusal. */
  authorizeHere(email: string, { storage = 'cookie', parameters = { issuer: 'local' } }: LogIn = {}) {
    return this.service.authorize(email, password, `?${new URLSearchParams({ token_storage: storage, ...parameters })}`);
  }

  async logInHere(email: string, options: LogIn = {}): Promise<Visit> {
    const { browser, back } = await this.authorizeHere(email, options);
    return { browser, ...(await this.callback(browser, back.searchParams)) };
  }

  /** Sets a password as an administrator who may write Secrets. */
  async givePassword({ email }: Person): Promise<void> {
    const { body } = await this.service.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(email)}`);
    const { metadata: user } = z.object({ metadata: z.object({ name: z.string(), uid: z.string() }) }).parse(body);
    const hash = await new Passwords().hash(password);
    await this.service.admin.apply(passwordSecret({ user, namespace: serviceNamespace, hash, changedAt: new Date() }));
  }

  /** Waits until the session of a browser has ended. */
  whenOut(browser: Browser): Promise<number> {
    return eventually(
      () => this.infoOf(browser),
      (status) => status === 401,
    );
  }

  /** Returns the status of UserInfo for the session of a browser. */
  async infoOf(browser: Browser): Promise<number> {
    return (await this.get(browser, '/api/v2/token/info')).status;
  }

  /** Returns the status of a GET of the browser's Session object in the cluster. */
  async sessionOf(browser: Browser): Promise<number> {
    const secret = browser.cookies.find(({ name }) => name.startsWith(sessionCookie))?.value ?? '';
    return (await this.service.admin.call('GET', sessionPath(secret))).status;
  }

  /** Returns the requests to the token and revocation endpoints of Keycloak since `forgetRequests`, newest first. */
  async requests(): Promise<string[]> {
    const { text: body } = await this.realm.admin('GET', `/events?client=${clientID}&max=100`);
    return events.parse(JSON.parse(body)).map(({ type }) => type);
  }

  /** Returns the number of token requests to the embedded issuer since `forgetRequests`. */
  requestsHere(): number {
    return this.service.lines.filter((line) => line.includes('"path":"/identity/token"')).length;
  }

  async forgetRequests(): Promise<void> {
    await this.realm.admin('DELETE', '/events');
    this.service.lines.length = 0;
  }

  async stop(): Promise<void> {
    await this.realm.admin('DELETE', `/clients/${await this.realm.idOf('clients', clientID)}`);
    await this.service.stop();
    await this.#relay.stop();
  }
}

/** Relay for logouts over http, because Keycloak trusts no certificate of the tests. */
class LogoutRelay {
  /** Status codes of the service's answers. */
  readonly answers: number[] = [];
  readonly #server: Server;

  constructor(service: EmbeddedLogin) {
    this.#server = createServer(async (request, response) => {
      const headers = { 'content-type': request.headers['content-type'] ?? '' };
      const body = await text(request);
      const answer = await service.request('/api/v2/token/backchannel-logout', { method: request.method ?? '', headers, body });
      this.answers.push(answer.status);
      response.writeHead(answer.status).end(await answer.text());
    });
  }

  async start(): Promise<string> {
    return `http://127.0.0.1:${await listen(this.#server)}/`;
  }

  stop(): Promise<void> {
    return stopListening(this.#server);
  }
}

/** Returns the login address of LoginInfo. */
export const addressOf = ({ body }: Answer): string => z.object({ auth_url: z.url() }).parse(body).auth_url;

/** Returns `ext` of UserInfo. */
export const extOf = ({ body }: Answer): Record<string, unknown> => z.object({ ext: z.looseObject({}) }).parse(body).ext;

/** Returns the first cause of a refusal. */
export function causeOf({ body }: Answer): Record<string, unknown> {
  const [cause] = z.object({ details: z.object({ causes: z.array(z.looseObject({})) }) }).parse(body).details.causes;
  return cause ?? {};
}

export const isSessionSet = ({ headers }: Answer): boolean =>
  headers.getSetCookie().some((line) => line.startsWith(sessionCookie) && !/Max-Age=0/.test(line));

export const noRecordOf = async ({ service }: Pick<KeycloakBeside, 'service'>, { email }: Person): Promise<boolean> =>
  (await service.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(email)}`)).status === 404;

/** Returns the fields of a record that a login writes. Conditions are left out, because a controller writes them at any time. */
export function ownerOf({ spec, status }: Awaited<ReturnType<typeof recordOf>>) {
  const { subjects, subjectName, groups, lastLoginTime } = status;
  return { spec, subjects, subjectName, groups, lastLoginTime };
}
