import { z } from 'zod';
import { Browser } from '../../service/identity/browser.ts';
import { logIn } from '../../service/login/provider/browser.ts';
import type { As } from './steps.ts';
import type { World } from './world.ts';

/** Credential that authenticates a request. */
export interface Credential {
  kind: 'bearer' | 'cookie' | 'access token' | 'kubectl’s token';
  /** User that the attacker tried to log in as. */
  of: string;
  headers: Record<string, string>;
  refreshToken?: string;
  isChecked: boolean;
  /** UID of the caller's own record, as the service first reported it. */
  uid?: string | undefined;
}

const userInfo = z.looseObject({
  ext: z.looseObject({ token: z.looseObject({ access_token: z.string().optional(), refresh_token: z.string().optional() }).optional() }),
});

export const bearerHeaders = (token: string) => ({ authorization: `Bearer ${token}` });

/** Credentials in the attacker's possession. */
export class Hand {
  readonly credentials: Credential[] = [];

  add(credential: Omit<Credential, 'isChecked'>): void {
    this.credentials.push({ ...credential, isChecked: false });
  }

  /** Returns the newest credential of a user, or else the newest of all. */
  find(as: As): Credential | undefined {
    return this.credentials.findLast(({ of }) => of === as) ?? this.credentials.at(-1);
  }
}

let addresses = 0;

/** Logs in at the embedded issuer. @returns undefined if the login is refused or requires a password change */
export async function openLocal(
  { url }: World,
  { email, password, storage }: { email: string; password: string; storage: 'local' | 'cookie' },
): Promise<Omit<Credential, 'isChecked'> | undefined> {
  addresses += 1;
  const headers = { 'x-forwarded-for': `172.16.${(addresses >> 8) & 255}.${addresses & 255}` };
  const browser = new Browser(url, [url], { headers });
  const login = await browser.get(`${url}/api/v2/token/login?token_storage=${storage}`);
  if (login.response.status !== 200) return undefined;
  const { auth_url } = JSON.parse(login.body);
  const { url: back } = await browser.submit(await browser.get(auth_url), { email, password });
  if (!back.searchParams.has('code')) return undefined;
  const { response, body } = await browser.get(`${url}/api/v2/token/callback${back.search}`);
  if (response.status !== 200) return undefined;
  const cookie = browser.cookies.find(({ name }) => isSessionCookie(name));
  return opened(email, JSON.parse(body), `${cookie?.name}=${cookie?.value}`);
}

/** Logs in at the test provider. */
export async function openAtIssuer(
  { url, provider }: World,
  { claims, storage }: { claims: Record<string, unknown>; storage: 'local' | 'cookie' | 'bearer' },
): Promise<Omit<Credential, 'isChecked'> | undefined> {
  if (provider === undefined) return undefined;
  const of = String(claims.sub);
  if (storage === 'bearer') return { kind: 'bearer', of, headers: bearerHeaders(provider.idToken({ claims: absent(claims) })) };
  provider.person = Object.fromEntries(Object.entries(claims));
  const { browser, callback } = await logIn({ url }, { storage });
  if (callback.status !== 200) return undefined;
  const cookie = [...browser.cookies].find(([name]) => isSessionCookie(name));
  return opened(of, callback.body, cookie?.join('='));
}

/** Clears the claims that the test provider adds by default. */
const absent = (claims: Record<string, unknown>) => ({ email_verified: undefined, preferred_username: undefined, groups: [], ...claims });

const isSessionCookie = (name: string) => name.startsWith('atrium_session_');

/** @param cookie name and value */
function opened(of: string, body: unknown, cookie = ''): Omit<Credential, 'isChecked'> {
  const { access_token, refresh_token } = userInfo.parse(body).ext.token ?? {};
  const refreshToken = refresh_token === undefined ? {} : { refreshToken: refresh_token };
  if (access_token !== undefined) return { kind: 'bearer', of, headers: bearerHeaders(access_token), ...refreshToken };
  return { kind: 'cookie', of, headers: { cookie }, ...refreshToken };
}
