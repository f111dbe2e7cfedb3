import { z } from 'zod';
import { Browser, logIn, userInfoOf } from '../../service/login/provider/browser.ts';
import { type AuditEvent, isImpersonated } from './audit-log.ts';
import type { AuditedService, Credentials } from './audited-service.ts';

/** A way to authenticate. Each request uses another user name, so that the calls in that name are the calls of the request. */
export interface Way {
  credentials: Credentials;
  logsIn: boolean;
  /** Returns the headers of a request by a user. */
  headers(service: AuditedService, name: string): Promise<Record<string, string>>;
  /** Reports whether the API server saw the user as the caller. */
  isTheirs(event: AuditEvent, name: string): boolean;
}

export const emailOf = (name: string) => `${name}@example.com`;
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const isBy = ({ user, impersonatedUser }: AuditEvent, username: string) => user.username === username && impersonatedUser === undefined;
export const personCalled = (name: string) => ({ sub: name, email: emailOf(name), email_verified: true, name, groups: ['callers'] });

const issuedToken = async ({ provider }: AuditedService, name: string) => bearer(provider.idToken({ claims: personCalled(name) }));

/** Logs in. All calls of the login have arrived when it returns. */
async function sessionOf({ server, provider }: AuditedService, name: string): Promise<Record<string, string>> {
  provider.person = personCalled(name);
  const browser = new Browser(server.url);
  userInfoOf((await logIn({ url: server.url }, { browser })).callback);
  const cookie = [...browser.cookies].map(([key, value]) => `${key}=${value}`).join('; ');
  return { cookie, 'sec-fetch-site': 'same-origin' };
}

export const ways: Readonly<Record<string, Way>> = {
  'a token of a service account': {
    credentials: 'passthrough',
    logsIn: false,
    async headers({ server }, name) {
      const path = '/api/v1/namespaces/callers/serviceaccounts';
      await server.kubernetes.call('POST', path, { metadata: { name } });
      const { body } = await server.kubernetes.call('POST', `${path}/${name}/token`, { spec: {} });
      return bearer(z.object({ status: z.object({ token: z.string() }) }).parse(body).status.token);
    },
    isTheirs: (event, name) => isBy(event, `system:serviceaccount:callers:${name}`),
  },
  'a token of the issuer that the API server trusts': {
    credentials: 'passthrough',
    logsIn: false,
    headers: issuedToken,
    isTheirs: (event, name) => isBy(event, emailOf(name)),
  },
  'a token of an issuer that the API server does not know': {
    credentials: 'impersonate',
    logsIn: false,
    headers: issuedToken,
    isTheirs: (event, name) => isImpersonated(event, emailOf(name)),
  },
  'a session with a token that the API server takes': {
    credentials: 'passthrough',
    logsIn: true,
    headers: sessionOf,
    isTheirs: (event, name) => isBy(event, emailOf(name)),
  },
  'a session with a token that it does not take': {
    credentials: 'impersonate',
    logsIn: true,
    headers: sessionOf,
    isTheirs: (event, name) => isImpersonated(event, emailOf(name)),
  },
};
