import { z } from 'zod';
import type { Config } from '../config/schema.ts';
import { renewPayload } from '../sessions/renew-payload.ts';

export const loginInfo = z
  .object({
    auth_url: z.url().describe('Where the front-end sends the browser.'),
    state: z.string().describe('To be passed to the callback, which checks that the browser is the same.'),
    logout_url: z.url().exactOptional().describe('Logout address of the issuer.'),
  })
  .meta({
    id: 'LoginInfo',
    examples: [
      {
        auth_url: 'https://console.example.com/identity/auth?client_id=atrium&response_type=code&scope=openid&state=q1YdRZsU',
        state: 'q1YdRZsUe0xw7v3mC9kTbNfHgL5aJpVyXoE2iQuSr4D',
        logout_url: 'https://console.example.com/identity/session/end',
      },
    ],
  });

export type LoginInfo = z.output<typeof loginInfo>;

const jane = {
  name: 'jane@example.com',
  uid: 'CiQ5ZTI2NDcxZBIFbG9jYWw',
  email: 'jane@example.com',
  groups: ['dev', 'oncall'],
  ext: {
    user: '8c87b489ce35cf2e2f39f80e282cb2e8',
    display_name: 'Jane Doe',
    connector_id: 'local',
    connector_type: 'local',
    is_admin: false,
    phase: 'Normal',
    must_change_password: false,
    issuer: 'https://console.example.com/identity',
    expires_at: '2026-03-01T12:00:00Z',
    token_storage: 'cookie',
  },
};

export const userInfo = z
  .object({
    name: z.string().describe('The user name that Kubernetes sees.'),
    uid: z.string(),
    groups: z.array(z.string()),
    email: z.string().exactOptional(),
    ext: z.looseObject({
      user: z.string().exactOptional().describe('Name of the User record.'),
      display_name: z.string().exactOptional(),
      connector_id: z.string().exactOptional(),
      connector_type: z.string().exactOptional(),
      is_admin: z.boolean().exactOptional().describe('A hint for display, never a permission.'),
      phase: z.string().exactOptional(),
      must_change_password: z.boolean().exactOptional(),
      issuer: z.string().exactOptional(),
      expires_at: z.iso.datetime().exactOptional(),
      token_storage: z.enum(['cookie', 'local']).exactOptional(),
      claims: z.record(z.string(), z.unknown()).exactOptional(),
      extra: z.record(z.string(), z.array(z.string())).exactOptional(),
      return_to: z.string().exactOptional().describe('In the callback: where the person wanted to go.'),
      token: renewPayload.exactOptional().describe('In the callback.'),
    }),
  })
  .meta({ id: 'UserInfo', examples: [jane] });

/** UserInfo in the answer of the callback. */
export const loggedIn = userInfo.meta({
  examples: [{ ...jane, ext: { ...jane.ext, return_to: '/clusters', token: renewPayload.meta()?.examples?.[0] } }],
});

/** Issuers that a login page offers. */
export const issuerList = z.object({ items: z.array(z.object({ id: z.string(), name: z.string() })) }).meta({
  id: 'LoginIssuers',
  examples: [
    {
      items: [
        { id: 'local', name: 'Local users' },
        { id: 'corp', name: 'Example Corp' },
      ],
    },
  ],
});

export type IssuerList = z.output<typeof issuerList>;

export type UserInfo = z.output<typeof userInfo>;

/** Hint that is passed on to the issuer unchanged. */
const hint = () => z.string().max(256).optional();

/** Reports whether a path has one leading slash, no empty segment, no backslash, and visible ASCII only. */
const isPlainPath = (text: string): boolean => /^\/(?:[\x21-\x2e\x30-\x5b\x5d-\x7e]+\/)*[\x21-\x2e\x30-\x5b\x5d-\x7e]*$/.test(text);

/** Reports whether every client resolves the path to this origin, even a client that decodes it first. */
function isOwnPath(text: string): boolean {
  if (!isPlainPath(text)) return false;
  const [path = ''] = text.split(/[?#]/, 1);
  try {
    return !/\/\/|\\|\p{Cc}/u.test(decodeURIComponent(path));
  } catch {
    return false;
  }
}

export const returnPath = z
  .string()
  .max(2048)
  .refine(isOwnPath, 'must be a path with one leading slash, without "//", "\\" or control characters');

/** Query of login and redirect. Other parameters of OpenID Connect are ignored, because the configuration determines them. */
export const loginQuery = ({ redirectURLs, tokenStorage }: { redirectURLs: readonly string[] } & Pick<Config['login'], 'tokenStorage'>) =>
  z.object({
    redirect_uri: z
      .string()
      .refine(
        (url) => redirectURLs.includes(url),
        'must equal one of the redirect URLs that are configured, or a callback address of this service',
      )
      .optional()
      .describe('One of `login.redirectURLs`, or a callback address of this service; the first setting by default.'),
    return_to: returnPath.optional().describe('Where the front-end goes afterwards; comes back in `ext.return_to` of UserInfo.'),
    issuer: hint().describe('Id of the issuer, where there are several.'),
    connector_id: hint().describe('Passed on to the issuer; among several it may be the id of one.'),
    prompt: hint().describe('Passed on to the issuer.'),
    login_hint: hint().describe('Passed on to the issuer; among several its domain chooses one.'),
    ui_locales: hint().describe('Passed on to the issuer.'),
    max_age: z
      .string()
      .regex(/^\d{1,5}$/, 'must be seconds')
      .refine((text) => Number(text) <= 86_400, 'must be at most 86400')
      .optional()
      .describe('How old the login at the issuer may be, in seconds; the callback refuses an older one.'),
    acr_values: hint().describe('What the login is to be worth, separated by spaces; the callback refuses one that has none of them.'),
    factor: z.enum(['passkey', 'totp', 'codes']).optional().describe('With `prompt=enrol`, at the embedded issuer: what is to be set up.'),
    token_storage: z
      .enum(tokenStorage, 'must be one that is configured')
      .optional()
      .describe('Who keeps the tokens: `cookie` (a session here) or `local` (the caller).'),
  });

export type LoginQuery = z.output<ReturnType<typeof loginQuery>>;

const text = () => z.string().optional();

/** Parameters that the issuer sends back. The steps of the callback decide which are required, since they depend on each other. */
export const callbackQuery = z.object({
  state: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/, 'is none that login gives')
    .describe('As login gave it.'),
  code: text(),
  id_token: text().describe('Of an issuer that sends the token itself (`login.responseMode: id_token`).'),
  iss: text().describe('The issuer (RFC 9207).'),
  issuer: text().describe('Of the redirect URL of an issuer that sends no `iss`.'),
  error: text().describe('Why the issuer refused (RFC 6749, section 4.1.2.1).'),
  error_description: text().describe('The same in words.'),
  session_state: text().describe('Of the session at the issuer; not used.'),
});

/** Query in the OpenAPI document, where clients always send `code`. The callback enforces that in the order of its checks. */
export const describedCallbackQuery = callbackQuery.extend({
  code: z.string().describe('From the issuer. May be empty or missing beside `id_token`.'),
});

export type CallbackQuery = z.output<typeof callbackQuery>;
