import { isReturnPath, maxReturnPath } from '@atrium/http/return-path.ts';
import { z } from 'zod';
import type { Config } from '../config/schema.ts';
import { renewPayload } from '../sessions/schema.ts';

export const loginInfo = z
  .object({
    auth_url: z.url().describe('Authorization URL, to which the front-end sends the browser.'),
    state: z.string().describe('Value for the callback, which verifies that the browser is the same.'),
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
      is_admin: z.boolean().exactOptional().describe('Hint for display; no permission.'),
      phase: z.string().exactOptional(),
      must_change_password: z.boolean().exactOptional(),
      issuer: z.string().exactOptional(),
      expires_at: z.iso.datetime().exactOptional(),
      token_storage: z.enum(['cookie', 'local']).exactOptional(),
      claims: z.record(z.string(), z.unknown()).exactOptional(),
      extra: z.record(z.string(), z.array(z.string())).exactOptional(),
      audit_alert: z
        .literal(true)
        .exactOptional()
        .describe(
          'The audit takes no events, has lost some in the last day, or will refuse further ones soon. Set for callers who may list audits; not set by the callback. `GET /auth/v1/audit/status` has the state.',
        ),
      return_to: z.string().exactOptional().describe('Path to open after the login. Set by the callback.'),
      token: renewPayload.exactOptional().describe('Tokens of the login. Set by the callback.'),
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

export const returnPath = z
  .string()
  .max(maxReturnPath)
  .refine(isReturnPath, 'must be a path with one leading slash, without "//", "\\" or control characters');

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
      .describe('An entry of `login.redirectURLs`, or a callback address of this service. Default: the first entry.'),
    return_to: returnPath.optional().describe('Path that the front-end opens afterwards. Returned in `ext.return_to` of UserInfo.'),
    issuer: hint().describe('Id of the issuer, if several are configured.'),
    connector_id: hint().describe('Passed on to the issuer. Also selects an issuer by its id.'),
    prompt: hint().describe('Passed on to the issuer.'),
    login_hint: hint().describe('Passed on to the issuer. Its domain also selects one of several issuers.'),
    ui_locales: hint().describe('Passed on to the issuer.'),
    max_age: z
      .string()
      .regex(/^\d{1,5}$/, 'must be seconds')
      .refine((text) => Number(text) <= 86_400, 'must be at most 86400')
      .optional()
      .describe('Maximum age of the login at the issuer, in seconds. The callback refuses an older login.'),
    acr_values: hint().describe(
      'Requested authentication context classes, separated by spaces. The callback refuses a login with none of them.',
    ),
    factor: z
      .enum(['passkey', 'totp', 'codes'])
      .optional()
      .describe('Second factor to set up, with `prompt=enrol` at the embedded issuer.'),
    token_storage: z
      .enum(tokenStorage, 'must be one that is configured')
      .optional()
      .describe('Storage of the tokens: `cookie` (a session of this service) or `local` (the client).'),
  });

export type LoginQuery = z.output<ReturnType<typeof loginQuery>>;

const text = () => z.string().optional();

/** Parameters that the issuer sends back. The steps of the callback decide which are required, since they depend on each other. */
export const callbackQuery = z.object({
  state: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/, 'is none that login gives')
    .describe('`state` of the login answer.'),
  code: text(),
  id_token: text().describe('ID token of an issuer with `login.responseMode: id_token`.'),
  iss: text().describe('Identifier of the issuer (RFC 9207).'),
  issuer: text().describe('Id of the issuer, in the redirect URL of an issuer that sends no `iss`.'),
  error: text().describe('Error code of the issuer (RFC 6749, section 4.1.2.1).'),
  error_description: text().describe('Error message of the issuer.'),
  session_state: text().describe('State of the session at the issuer. Ignored.'),
});

/** Query in the OpenAPI document, where clients always send `code`. The callback enforces that in the order of its checks. */
export const describedCallbackQuery = callbackQuery.extend({
  code: z.string().describe('Authorization code of the issuer. May be empty or missing beside `id_token`.'),
});

export type CallbackQuery = z.output<typeof callbackQuery>;
