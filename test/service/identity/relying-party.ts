import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Browser, PageVisit } from './browser.ts';

const tokenAnswer = z.object({
  access_token: z.string(),
  id_token: z.string(),
  refresh_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.number(),
});
export type Tokens = z.infer<typeof tokenAnswer>;

interface Person {
  email: string;
  password: string;
}

export interface Answer {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

interface Settings {
  issuer: string;
  clientID?: string;
  redirectURI?: string;
  scope?: string;
}

/** A relying party like a script with curl, which verifies nothing: the tests judge the answers. */
export class RelyingParty {
  readonly issuer: string;
  readonly clientID: string;
  readonly redirectURI: string;
  readonly scope: string;
  readonly verifier = randomBytes(32).toString('base64url');

  constructor({
    issuer,
    clientID = 'atrium',
    redirectURI = `${new URL(issuer).origin}/`,
    scope = 'openid profile email groups',
  }: Settings) {
    this.issuer = issuer;
    this.clientID = clientID;
    this.redirectURI = redirectURI;
    this.scope = scope;
  }

  authorizationURL(differing: Record<string, string> = {}): URL {
    const url = new URL(`${this.issuer}/auth`);
    const parameters = {
      client_id: this.clientID,
      redirect_uri: this.redirectURI,
      response_type: 'code',
      scope: this.scope,
      state: randomBytes(16).toString('base64url'),
      nonce: 'a-nonce',
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...differing,
    };
    for (const [name, value] of Object.entries(parameters)) if (value !== '') url.searchParams.set(name, value);
    return url;
  }

  /** Begins a login, and enters the credentials. @returns the page to which the browser is redirected */
  async begin(browser: Browser, { email, password }: Person, differing: Record<string, string> = {}): Promise<PageVisit> {
    const page = await browser.get(this.authorizationURL(differing));
    return page.body.includes('name="password"') ? browser.submit(page, { email, password }) : page;
  }

  /** @returns the authorization code */
  async code(browser: Browser, person: Person): Promise<string> {
    const end = await this.begin(browser, person);
    const code = end.url.searchParams.get('code');
    if (code === null) throw new Error(`no code: ${end.response.status} ${end.url.href} ${end.body}`);
    return code;
  }

  redeem(code: string, differing: Record<string, string> = {}): Promise<Answer> {
    const grant = { grant_type: 'authorization_code', code, redirect_uri: this.redirectURI, code_verifier: this.verifier };
    return this.post('/token', { ...grant, ...differing });
  }

  refresh(refreshToken: string, differing: Record<string, string> = {}): Promise<Answer> {
    return this.post('/token', { grant_type: 'refresh_token', refresh_token: refreshToken, ...differing });
  }

  /** Completes a login. */
  async tokens(browser: Browser, person: Person): Promise<Tokens> {
    return tokensOf(await this.redeem(await this.code(browser, person)));
  }

  async userinfo(accessToken: string): Promise<Answer> {
    return answerOf(await fetch(`${this.issuer}/me`, { headers: { authorization: `Bearer ${accessToken}` } }));
  }

  /** @param differing `origin` is the URL of another replica */
  async post(path: string, { origin, ...fields }: Record<string, string>): Promise<Answer> {
    const url = new URL(`${this.issuer}${path}`);
    const body = new URLSearchParams({ client_id: this.clientID, ...fields });
    return answerOf(await fetch(`${origin ?? url.origin}${url.pathname}`, { method: 'POST', body }));
  }
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const body = text.startsWith('{') ? z.record(z.string(), z.unknown()).parse(JSON.parse(text)) : {};
  return { status: response.status, body, headers: response.headers };
}

export function tokensOf({ status, body }: Answer): Tokens {
  if (status !== 200) throw new Error(`no tokens: ${status} ${JSON.stringify(body)}`);
  return tokenAnswer.parse(body);
}

/** Decodes the claims of a JWT without verification. */
export function claimsOf(token: string): Record<string, unknown> {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString();
  return z.record(z.string(), z.unknown()).parse(JSON.parse(payload));
}
