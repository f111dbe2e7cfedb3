/**
 * All settings of the service, each with its type, its validation, its default and its text in docs/configuration.md. Defaults have their
 * written form; the parsed configuration holds milliseconds and bytes.
 */
import { z } from 'zod';
import { accessRequestsSection } from './access-requests-section.ts';
import { auditSection, auditStoreSection } from './audit-sections.ts';
import { addressOrRange, hostOrAddress, httpURLWithoutQuery, objectName, origin } from './formats.ts';
import { listsSection } from './lists-section.ts';
import { identitySection, loginSection } from './login-sections.ts';
import { mcpSection } from './mcp-section.ts';
import { metricsSection } from './metrics-section.ts';
import { profileNames } from './profiles.ts';
import { smtpSection } from './smtp-section.ts';
import { tokenExchangeSection } from './token-exchange-section.ts';
import { dnsLabel, duration, isUnique, path, size } from './units.ts';
import { usersSection } from './users-section.ts';

const port = () => z.number().int().min(0).max(65_535);

function isPattern(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}

const server = z.strictObject({
  host: hostOrAddress()
    .default('::')
    .describe('Address to listen on. `::` is every address, of IPv4 too, and becomes `0.0.0.0` on a machine without IPv6.'),
  port: port().default(8080).describe('Port of the console and the API.'),
  publicURL: httpURLWithoutQuery()
    .optional()
    .describe('Address under which browsers reach the service. Its path is the base path. Operations that need it answer 400 without it.'),
  tls: z
    .strictObject({
      certFile: path().describe('PEM certificate chain. Reread after a change.'),
      keyFile: path().describe('PEM private key of the certificate.'),
    })
    .optional()
    .describe('Serve HTTPS. Without it the listener speaks plain HTTP, for use behind a proxy that ends TLS.'),
  trustedProxies: z.array(addressOrRange()).default([]).describe('Addresses and CIDR ranges of proxies whose X-Forwarded-For is trusted.'),
  corsOrigins: z.array(origin()).default([]).describe('Origins whose pages may call the API. Empty: CORS is disabled.'),
  metricsPort: port().default(9090).describe('Port of `/metrics`, and of the probes without the base path.'),
  bodyLimit: size().prefault('1MiB').describe('Maximum size of a request body. A larger one is 413.'),
  requestTimeout: duration().prefault('30s').describe('Deadline of a request, then 504. Watches have their own.'),
  maxInFlight: z
    .number()
    .int()
    .min(1)
    .default(1000)
    .describe(
      'Maximum number of concurrent requests, with a share for each user and client network. More are 429. Watches have a separate limit of the same size.',
    ),
  shutdownGrace: duration().prefault('25s').describe('Time for requests in flight after SIGTERM.'),
});

const apiPath = () =>
  z.string().regex(/^\/[\w.-]+(\/[\w.-]+)*$/, 'must be a path of the API server such as /apis/apps, without a slash at its end');

const proxy = z.strictObject({
  readOnly: z
    .boolean()
    .default(false)
    .describe("Allows only reads and reviews of the caller's own rights. Writes, exec, attach and port-forward are 403."),
  subresources: z
    .boolean()
    .default(false)
    .describe('Allows the subresource `proxy` of pods, services and nodes, for bearer tokens only. Its answers never run as a page.'),
  paths: z
    .array(apiPath())
    .min(1)
    .refine(isUnique, 'must not hold a path twice')
    .default(['/api', '/apis', '/version', '/openapi'])
    .describe('Served paths of the API server, with all paths below. Others are 404.'),
  idleTimeout: duration().prefault('1h').describe('Time after which a silent exec, attach or port-forward is closed.'),
  pingInterval: duration()
    .refine((ms) => ms >= 100 && ms <= 3_600_000, 'must be between 100ms and 1h')
    .prefault('30s')
    .describe('Interval of the pings on a WebSocket. Proxies in front cut a connection that is silent for their timeout, often a minute.'),
});

const kubernetes = z.strictObject({
  kubeconfig: path()
    .optional()
    .describe('kubeconfig file of the account of the service. Default: in-cluster, then the variable KUBECONFIG.'),
  namespace: dnsLabel()
    .optional()
    .describe('Namespace of the objects of the service. Default: its own (in-cluster), that of the kubeconfig context, or `default`.'),
  credentials: z
    .enum(['passthrough', 'impersonate'])
    .optional()
    .describe(
      'Forwards the token of the user (the API server must trust the issuer), or impersonates the user. Default: `passthrough` if `login.issuer` is set, else `impersonate`. Tokens of other issuers are always forwarded.',
    ),
  viewAs: z
    .enum(['off', 'read', 'write'])
    .default('read')
    .describe(
      'Accepts `Impersonate-*` headers from callers who may impersonate the user. `write`: also for writes that name the user in `Atrium-View-As-Write`.',
    ),
  accessCache: duration().prefault('5s').describe('Lifetime of a cached access decision (denials: at most 1s). 0s disables the cache.'),
  requestTimeout: duration().prefault('10s').describe('Deadline of one call to the API server, then 504.'),
  proxy: proxy.prefault({}).describe('The Kubernetes API below `/api/kubernetes`.'),
  publicURL: httpURLWithoutQuery()
    .optional()
    .describe('Address of the API server in kubeconfig files for users. Default: the address that the service uses.'),
});

const language = z.strictObject({
  id: z
    .string()
    .refine(isLanguageTag, 'must be a BCP 47 language tag such as en or zh-Hans')
    .meta({ pattern: '^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$' }),
  name: z.string().min(1).describe('Name of the language in the language itself.'),
});

function isLanguageTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

/** Minimal policy for the console. Trusted Types: scripts cannot create a policy that turns text into markup or code. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Directory beside the program, as in the image. */
export const defaultStaticDirectory = 'public';

const consoleSection = z.strictObject({
  apiAddress: z
    .string()
    .regex(/^(?:|\/[^\s?#]*|https?:\/\/[^\s?#@]+)$/, 'must be an http or https URL, a path, or empty')
    .optional()
    .describe('Address of the API for the console. Default: `server.publicURL` without trailing slash, else empty (same origin).'),
  assetsHostPath: z.string().optional().describe('Passed to the console unchanged. Default: `console.static.directory`.'),
  assetsURLPath: z
    .string()
    .regex(/^\/(.*\/)?$/, 'must be a path that begins and ends with /')
    .optional()
    .describe('URL path of the assets. Default: the base path.'),
  environment: z
    .array(z.strictObject({ key: z.string().min(1), value: z.string() }))
    .refine((pairs) => isUnique(pairs.map(({ key }) => key)), 'must not hold a key twice')
    .default([])
    .describe('Key and value pairs for the console, in this order.'),
  envsFilter: z
    .string()
    .refine(isPattern, 'must be a regular expression')
    .default('^CONSOLE_PUBLIC_')
    .describe('Pattern of the process variables that the console may see. Names that look like secrets are never shown.'),
  envs: z.record(z.string().min(1), z.string()).default({}).describe('Variables for the console. Override process variables.'),
  envsConfigMap: objectName()
    .optional()
    .describe('ConfigMap in `kubernetes.namespace` whose data override `console.envs`, for callers who may read it.'),
  debugImage: z
    .string()
    .regex(/^[^\s]{1,512}$/, 'must be the name of an image')
    .optional()
    .describe(
      'Image of debugging containers, as the variable `debug.image`. Overridden by `console.envs` and the ConfigMap. Default: an image that the console chooses.',
    ),
  recurveIndex: z
    .boolean()
    .default(true)
    .describe('Answers a missing page with the nearest index above it, not only with the one of the root.'),
  imageNamespaces: z
    .array(dnsLabel())
    .min(1)
    .refine(isUnique, 'must not hold a namespace twice')
    .optional()
    .describe(
      'Namespaces of images, in search order. A namespace in which the caller may not get the ConfigMap is skipped. Default: `kubernetes.namespace`.',
    ),
  languages: z
    .array(language)
    .min(1)
    .refine((languages) => isUnique(languages.map(({ id }) => id)), 'must not hold an id twice')
    .default([{ id: 'en', name: 'English' }])
    .describe('Languages of the console, in order.'),
  metrics: metricsSection.prefault({}).describe('CPU and memory over time.'),
  plugins: z
    .strictObject({
      caFile: path()
        .optional()
        .describe(
          'PEM file of the certificate authorities for Services of console plugins (`<service>.<namespace>.svc`). Reread after a change. A proxy of a ConsolePlugin may name its own (`caCertificate`). Default: those of the system.',
        ),
    })
    .prefault({})
    .describe('Services that console plugins come from or talk to.'),
  static: z
    .strictObject({
      directory: path()
        .default(defaultStaticDirectory)
        .describe('Directory of the static files, reread within a minute after a change. Unset: the files of the service.'),
      fallback: z
        .string()
        .regex(/^[^/\\]+$/, 'must be a file name without a path')
        .default('index.html')
        .describe('Index file: the answer for a directory, and for a missing path that accepts HTML.'),
      csp: z
        .string()
        .regex(/^[\x20-\x7e]+$/, 'must be printable ASCII')
        .default(contentSecurityPolicy)
        .describe('Content-Security-Policy of HTML answers.'),
      keepPrevious: duration()
        .prefault('1h')
        .describe(
          'Time for which replaced files with a hash in their name are still served, up to 256 MiB, so that open pages survive an upgrade. `0s`: none.',
        ),
    })
    .prefault({}),
});

const feature = (what: string, isOn = true) => z.boolean().default(isOn).describe(what);

const features = z.strictObject({
  openapi: feature('`GET /openapi/v3`.'),
  docs: feature('`GET /docs`, the page of the OpenAPI document. Requires `features.openapi`.'),
  discovery: feature('`GET /apis` and below, so that kubectl finds the resources here.'),
  pubkey: feature('`GET /auth/v1/pubkey`, and encrypted passwords.'),
  me: feature('`GET /auth/v1/me`.'),
  kubeconfig: feature('`GET /auth/v1/kubeconfig`.'),
  accessTokens: feature('Access tokens, and the token webhook of the API server. Disabled: existing tokens are refused.'),
  tokenExchange: feature(
    '`POST /oauth2/token`: tokens of workloads become short access tokens of machine users. Requires `features.accessTokens` and `server.publicURL`.',
    false,
  ),
  factors: feature('Second factors at the embedded issuer. Disabled: existing factors are not asked for.'),
  linkedAccounts: feature('`/auth/v1/links`: linking accounts of several issuers. Disabled: linked accounts can still log in.'),
  links: feature('One-time links of local users: invitation, forgotten password. Disabled: existing links are refused.'),
  groups: feature('Local groups of users, and their operations.'),
  userBindings: feature('UserBindings, their operations and their controller.'),
  accessRequests: feature(
    'Temporary access: AccessPolicies, AccessRequests and their operations. Requires `features.userBindings`.',
    false,
  ),
  sessions: feature('`/auth/v1/sessions`: listing and ending sessions.'),
  watch: feature('Live lists of users, groups, UserBindings, sessions and access tokens as server-sent events.'),
  namespaces: feature('`GET /auth/v1/namespaces`.'),
  explorer: feature('The access explorer: `/auth/v1/accesssubjects`, `accessrules`, `subjectaccessreviews` and `simulations`.'),
  explain: feature('`?explain=true` on access reviews.'),
  pluginAssets: feature('`GET /plugins/…`: files of console plugins.'),
  kubernetesProxy: feature('`/api/kubernetes/…`: the Kubernetes API, as the caller.'),
  pluginProxy: feature('`/api/proxy/plugin/…`: the proxy to the Services of console plugins.'),
  backchannelLogout: feature('`POST /api/v2/token/backchannel-logout`.'),
  version: feature('`GET /version`.'),
  metrics: feature('`GET /metrics` on the public port, for callers who may get that path.'),
  mcp: feature('`/mcp`: tools for agents (Model Context Protocol). Requires `server.publicURL` and an issuer.', false),
  cpuProfile: z.boolean().default(false).describe('`POST /debug/v1/cpuprofile`, for callers who may post to that path.'),
});

const log = z.strictObject({
  level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('Minimum level of log lines.'),
  format: z.enum(['json', 'pretty']).default('json').describe('JSON lines, or text for a terminal.'),
});

const tracing = z.strictObject({
  otlpEndpoint: httpURLWithoutQuery()
    .optional()
    .describe('Collector of spans, as JSON at `<endpoint>/v1/traces` (OTLP/HTTP). Without it no span is recorded.'),
  caFile: path().optional().describe('PEM bundle that verifies the collector, beside the authorities of the system.'),
  sampleRatio: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('Recorded share of the requests without a `traceparent`. Callers who send one decide by its flag.'),
});

export const configSchema = z.strictObject({
  profile: z
    .enum(profileNames)
    .optional()
    .describe(
      'Defaults for several features at once. `team`: workload lists, UserBindings, access tokens and access requests. `minimal`: none of them. Settings of single features override it. Default: the defaults below.',
    ),
  server: server.prefault({}).describe('The listener.'),
  kubernetes: kubernetes.prefault({}).describe('The API server.'),
  console: consoleSection.prefault({}).describe('The console and its files.'),
  login: loginSection.prefault({}).describe('Login by OpenID Connect.'),
  identity: identitySection.prefault({}).describe('The embedded OpenID provider for local users.'),
  users: usersSection.prefault({}).describe('User records.'),
  smtp: smtpSection.prefault({}).describe('The mail server.'),
  lists: listsSection.prefault({}).describe('Lists of any resource.'),
  features: features.prefault({}).describe('Switches of the extensions. A disabled extension answers 404.'),
  accessRequests: accessRequestsSection.prefault({}).describe('Temporary access (`features.accessRequests`).'),
  tokenExchange: tokenExchangeSection.prefault({}).describe('Machine users (`features.tokenExchange`).'),
  mcp: mcpSection.prefault({}).describe('The door for agents (`features.mcp`).'),
  log: log.prefault({}).describe('The process log.'),
  audit: auditSection.prefault({}).describe('The audit trail.'),
  auditStore: auditStoreSection.prefault({}).describe('The process `atrium audit-store`, with the listener of `server`.'),
  tracing: tracing.prefault({}).describe('Traces of requests (OpenTelemetry).'),
});

export type Config = Readonly<z.output<typeof configSchema>>;

/** Returns the base path of all operations: `''`, or `/console` for a public URL of `https://example.com/console/`. */
export const basePathOf = (config: Config): string =>
  config.server.publicURL === undefined ? '' : new URL(config.server.publicURL).pathname.replace(/\/{1,8}$/, '');
