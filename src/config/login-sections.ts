/** Settings of login: the relying party, and the embedded OpenID provider. */
import { z } from 'zod';
import { httpURL } from './formats.ts';
import { dnsLabel, duration, isUnique, path } from './units.ts';

const redirectURL = () => httpURL().refine((text) => !text.includes('#'), 'must hold no fragment');

const scopes = () =>
  z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must be a scope name'))
    .refine((scopes) => scopes.includes('openid'), 'must hold openid');

const isSafe = (url: string) => /^(https:|http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$))/.test(url);

const acrValue = () => z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,64}$/, 'must be visible ASCII without quotes');

const factorRule = () => z.enum(['required', 'optional', 'off']);

const factors = z.strictObject({
  default: factorRule()
    .default('optional')
    .describe(
      'Rule for other users: `required`, `optional`, or `off`, which disables the setup of factors. If required, a login with a linked account needs `acr` `urn:atrium:acr:2` or `phr` of its issuer.',
    ),
  rules: z
    .array(
      z.strictObject({
        group: z.string().min(1).describe('A group, as it stands in tokens: `admins`, `local:dev`.'),
        factors: factorRule(),
      }),
    )
    .default([])
    .describe('Rules for the users of groups. The strictest rule applies. An existing factor is always asked for.'),
  grace: duration().prefault('7d').describe('Time from the first login in which a required factor may be missing.'),
  passkeys: z
    .boolean()
    .default(true)
    .describe(
      'Allows setting up passkeys, and logins by passkey without a password. Disabled: existing passkeys are asked for after the password.',
    ),
  totp: z.boolean().default(true).describe('Allows setting up authenticator apps. Disabled: codes of existing apps are still asked for.'),
});

const stepUp = z.strictObject({
  operations: z
    .array(z.enum(['passwordReset', 'bindings', 'certificates', 'accessTokens', 'accessDecisions', 'viewAsWrites']))
    .max(6)
    .default([])
    .describe(
      'Operations that require a recent login, beside those on factors and links. Applies to the same writes by `/api/kubernetes`.',
    ),
  maxAge: duration().prefault('5m').describe('Maximum age of a recent login.'),
  acr: z.array(acrValue()).max(4).default([]).describe('Accepted values of `acr` of a recent login. Default: any.'),
});

/** Settings of an issuer. */
export const oneIssuer = {
  issuer: httpURL()
    .refine((text) => !/[?#]/.test(text), 'must hold no query or fragment')
    .optional()
    .describe('Issuer identifier, equal to the `iss` claim (OpenID Connect Core 3.1.3.7). Default: the embedded issuer.'),
  clientID: z.string().min(1).default('atrium').describe('Client identifier at the OpenID provider.'),
  clientSecretFile: path().optional().describe('File with the client secret. Unset for a public client.'),
  clientAuthentication: z
    .enum(['basic', 'post'])
    .default('basic')
    .describe('Place of the client secret: an HTTP Basic header (the body if the issuer accepts nothing else), or the body.'),
  caFile: path().optional().describe('PEM certificate authority of the issuer, beside those of the system.'),
  scopes: scopes().default(['openid', 'profile', 'email', 'groups', 'offline_access']).describe('Requested scopes.'),
  responseMode: z
    .enum(['code', 'id_token'])
    .default('code')
    .describe('Flow: an authorization code with PKCE, or an ID token in the fragment.'),
  idTokenAlgorithm: z
    .enum(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'])
    .optional()
    .describe(
      'Signature algorithm of ID tokens and logout tokens, as registered at the issuer (`id_token_signed_response_alg`). Default: RS256, or those that an issuer without RS256 announces.',
    ),
  requireIss: z
    .boolean()
    .default(false)
    .describe('Refuses a callback without `iss` from an issuer that announces it (RFC 9207). A present `iss` is always verified.'),
  postLogoutRedirectURLs: z
    .array(redirectURL())
    .min(1)
    .optional()
    .describe('Addresses to which the issuer sends browsers after a logout. Default: `server.publicURL` with a slash.'),
  logoutURL: redirectURL().optional().describe('Logout address of an issuer that announces no `end_session_endpoint`.'),
  audiences: z.array(z.string().min(1)).default([]).describe('Further audiences whose bearer tokens are accepted.'),
  bearer: z
    .enum(['auto', 'access_token', 'id_token'])
    .default('auto')
    .describe('Token that becomes the credential. `auto`: the access token if it is a JWT of this issuer and audience, else the ID token.'),
  claims: z
    .strictObject({
      username: z
        .string()
        .min(1)
        .default('email')
        .describe('Claim that names the user for Kubernetes; `email` or `sub` with the embedded issuer.'),
      usernamePrefix: z
        .string()
        .optional()
        .describe('Prefix of the user name; `-` is none. Default, like the API server: none for `email`, else the issuer and `#`.'),
      groups: z.string().min(1).default('groups').describe('Claim with the groups, a text or a list.'),
      groupsPrefix: z.string().default('').describe('Prefix of each group.'),
    })
    .prefault({}),
  extClaims: z
    .array(z.string().min(1))
    .default(['preferred_username', 'name', 'locale', 'picture'])
    .describe('Claims shown in `ext.claims` of UserInfo.'),
};

const issuerEntry = z.strictObject({
  cli: z
    .strictObject({
      clientID: z.string().min(1).optional().describe('Public client of command-line tools here. Default: `login.cli.clientID`.'),
      scopes: scopes().optional().describe('Scopes that they ask for here. Default: `login.cli.scopes`, or else `scopes`.'),
    })
    .prefault({}),
  id: dnsLabel().describe('Names the issuer in `issuer=ID` of a login, in refresh tokens and in links.'),
  name: z.string().min(1).max(64).optional().describe('Name on the button of the console. Default: the id.'),
  emailDomains: z
    .array(z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/, 'must be a domain in lower case'))
    .default([])
    .describe('Domains of `login_hint` whose users log in here.'),
  acr: z.record(acrValue(), acrValue()).default({}).describe('Values of `acr` as they are called here, and what the issuer calls them.'),
  redirectURL: redirectURL()
    .optional()
    .describe(
      'Redirect URL of this issuer alone, with `issuer=ID` in its query. Compulsory for an issuer that does not announce `iss` (RFC 9207), such as Dex.',
    ),
  ...oneIssuer,
});

export const loginSection = z.strictObject({
  ...oneIssuer,
  issuers: z
    .array(issuerEntry)
    .refine((issuers) => isUnique(issuers.map(({ id }) => id)), 'must not hold an id twice')
    .default([])
    .describe(
      'Several issuers, in place of `login.issuer`. Each has an `id` and the settings of `login` for an issuer; see docs/issuers.md.',
    ),
  redirectURLs: z
    .array(redirectURL())
    .min(1)
    .optional()
    .describe(
      'Redirect URLs. The first is the default. The two callback addresses of this service are always allowed. Default: `server.publicURL` with a slash.',
    ),
  cli: z
    .strictObject({
      clientID: z
        .string()
        .min(1)
        .default('kubectl')
        .describe('Public client of command-line tools at the issuer. The API server must accept its ID tokens.'),
      scopes: scopes().optional().describe('Scopes of command-line tools. Default: `login.scopes`.'),
    })
    .prefault({}),
  externalURL: redirectURL().optional().describe('Target of the redirect operation in place of the issuer.'),
  tokenStorage: z
    .array(z.enum(['cookie', 'local']))
    .min(1)
    .refine(isUnique, 'must not hold one twice')
    .default(['local', 'cookie'])
    .describe('Allowed storages of tokens: the client (`local`), or a session (`cookie`). The first is the default.'),
  perMinute: z
    .number()
    .int()
    .min(1)
    .default(600)
    .describe(
      'Logins, callbacks, redirects, and refreshes and logouts with made-up tokens, per minute and client address. The embedded issuer answers four times as many requests.',
    ),
  session: z
    .strictObject({
      idle: duration().prefault('12h').describe('Time without use after which a session ends.'),
      absolute: duration().prefault('7d').describe('Maximum lifetime of a session.'),
      maxPerUser: z
        .number()
        .int()
        .min(1)
        .max(10_000)
        .default(50)
        .describe(
          'Maximum number of sessions of a user, and of logins at each client of the embedded issuer. Another login ends the oldest.',
        ),
    })
    .prefault({}),
  factors: factors.prefault({}).describe('Second factors at the embedded issuer.'),
  stepUp: stepUp.prefault({}).describe('Operations on factors and one-time links want a fresh login (RFC 9470).'),
  links: z
    .strictObject({
      forgotten: z
        .boolean()
        .default(true)
        .describe('Mails a link to users who have forgotten their password. Disabled: an administrator creates the link.'),
    })
    .prefault({})
    .describe('One-time links of local users.'),
  keysSecret: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, 'must be the name of a Secret')
    .default('atrium-keys')
    .describe('Secret in `kubernetes.namespace` with the key ring. Created if it is missing.'),
});

const client = z.strictObject({
  id: z.string().min(1),
  secretFile: path().optional().describe('File with the secret; leave out for a public client.'),
  redirectURLs: z.array(redirectURL()).default([]),
  name: z.string().min(1).optional(),
  backchannelLogoutURL: redirectURL()
    .refine(isSafe, 'must be https, or http on this machine')
    .optional()
    .describe('Address that receives logouts (OpenID Connect Back-Channel Logout 1.0); ID tokens then have a `sid`.'),
});

export const identitySection = z.strictObject({
  enabled: z
    .boolean()
    .optional()
    .describe('Enables the embedded OpenID provider. Default: if `login.issuer` is not set and `server.publicURL` is.'),
  clients: z
    .array(client)
    .refine((clients) => isUnique(clients.map(({ id }) => id)), 'must not hold an id twice')
    .default([])
    .describe('Further relying parties, such as kubectl.'),
  loginPage: z
    .strictObject({
      title: z.string().min(1).default('Atrium').describe('Heading of the login page.'),
      logo: z
        .string()
        .regex(/^\/([^/]|$)/, 'must be a path of this service')
        .optional()
        .describe('Picture above the heading: a path of this service, such as /api/v1/cm/logos/logo.svg.'),
    })
    .prefault({}),
  accessTokenTTL: duration().prefault('15m').describe('Lifetime of access tokens.'),
  idTokenTTL: duration().prefault('15m').describe('Lifetime of ID tokens.'),
  refreshTokenTTL: duration().optional().describe('Lifetime of refresh tokens. Default: `login.session.absolute`.'),
});
