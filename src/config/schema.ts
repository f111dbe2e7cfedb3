/**
 * All settings of the service, each with its type, its validation, its default and its text in docs/configuration.md. Defaults have their
 * written form; the parsed configuration holds milliseconds and bytes.
 */
import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { accessRequestsSection } from './access-requests-section.ts';
import { listsSection } from './lists-section.ts';
import { identitySection, loginSection } from './login-sections.ts';
import { smtpSection } from './smtp-section.ts';
import { dnsLabel, duration, isUnique, path, size } from './units.ts';
import { usersSection } from './users-section.ts';

const port = () => z.number().int().min(0).max(65_535);

const publicURL = () =>
  z
    .url({ protocol: /^https?$/, error: 'must be an absolute http or https URL' })
    .refine((text) => !/[?#@]/.test(text), 'must hold no user, query or fragment');

const origin = () =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && new URL(text).origin === text,
      'must be an origin such as https://console.example.com, without a path',
    );

function isAddressRange(text: string): boolean {
  const [address = '', prefix] = text.split('/');
  const family = isIP(address);
  if (family === 0) return false;
  if (prefix === undefined) return true;
  try {
    new BlockList().addSubnet(address, Number(prefix), family === 6 ? 'ipv6' : 'ipv4');
    return /^\d+$/.test(prefix);
  } catch {
    return false;
  }
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
}

const server = z.strictObject({
  host: z
    .string()
    .min(1)
    .default('::')
    .describe('Address to listen on. `::` is every address, of IPv4 too, and becomes `0.0.0.0` on a machine without IPv6.'),
  port: port().default(8080).describe('Port of the console and the API.'),
  publicURL: publicURL()
    .optional()
    .describe(
      'Address under which browsers reach the service; its path is the base path of everything. Operations that need it answer 400 without it.',
    ),
  tls: z
    .strictObject({
      certFile: path().describe('PEM certificate chain; read again when it changes.'),
      keyFile: path().describe('PEM private key of the certificate.'),
    })
    .optional()
    .describe('Serve HTTPS. Without it the listener speaks plain HTTP, for use behind a proxy that ends TLS.'),
  trustedProxies: z
    .array(z.string().refine(isAddressRange, 'must be an address or a CIDR range such as 10.0.0.0/8'))
    .default([])
    .describe('Addresses and CIDR ranges of proxies whose X-Forwarded-For is believed.'),
  corsOrigins: z.array(origin()).default([]).describe('Origins whose pages may call the API. None: CORS is off.'),
  metricsPort: port().default(9090).describe('Port of `/metrics`, and of the probes without the base path.'),
  bodyLimit: size().prefault('1MiB').describe('Largest request body; more is 413.'),
  requestTimeout: duration().prefault('30s').describe('Deadline of a request as a whole, then 504; watches have their own.'),
  maxInFlight: z
    .number()
    .int()
    .min(1)
    .default(1000)
    .describe('Requests answered at one time; more are 429. Watches are counted apart, with the same bound.'),
  shutdownGrace: duration().prefault('25s').describe('Time for requests in flight after SIGTERM.'),
});

const apiPath = () =>
  z.string().regex(/^\/[\w.-]+(\/[\w.-]+)*$/, 'must be a path of the API server such as /apis/apps, without a slash at its end');

const proxy = z.strictObject({
  readOnly: z
    .boolean()
    .default(false)
    .describe("Only reads and reviews of the caller's own rights: no write, no exec, attach or port-forward, else 403."),
  subresources: z
    .boolean()
    .default(false)
    .describe(
      'Also the subresource `proxy` of pods, services and nodes, for bearer tokens only. Answers of a pod there never act as a page.',
    ),
  paths: z
    .array(apiPath())
    .min(1)
    .refine(isUnique, 'must not hold a path twice')
    .default(['/api', '/apis', '/version', '/openapi'])
    .describe('Offered paths of the API server, with everything below; others are 404.'),
  idleTimeout: duration().prefault('1h').describe('An exec, attach or port-forward that is silent for so long is cut.'),
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
      'The token of the user is forwarded (the API server must trust the issuer), or the service impersonates the user. Default: `passthrough` if `login.issuer` is set, else `impersonate`. Tokens of other issuers are always forwarded.',
    ),
  viewAs: z
    .enum(['off', 'read', 'write'])
    .default('read')
    .describe(
      'Callers who may impersonate a user view the cluster as that user, by `Impersonate-*` headers. `write`: also writes that name the user in `Atrium-View-As-Write`.',
    ),
  accessCache: duration().prefault('5s').describe('Life of an access decision (denials at most 1s); 0s turns it off.'),
  requestTimeout: duration().prefault('10s').describe('Deadline of one call to the API server, then 504.'),
  proxy: proxy.prefault({}).describe('The Kubernetes API below `/api/kubernetes`.'),
  publicURL: publicURL()
    .optional()
    .describe('Address of the API server as people reach it, for the kubeconfig files that they are given. Default: the one used here.'),
});

const language = z.strictObject({
  id: z.string().refine(isLanguageTag, 'must be a BCP 47 language tag such as en or zh-Hans'),
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
    .optional()
    .describe('Address of the API as the console is told. Default: `server.publicURL` without trailing slash, else empty (same origin).'),
  assetsHostPath: z.string().optional().describe('Told to the console as written. Default: `console.static.directory`.'),
  assetsURLPath: z
    .string()
    .regex(/^\/(.*\/)?$/, 'must begin and end with /')
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
    .describe('Which process variables the console may see: an allow-list. Names that look like secrets are never shown.'),
  envs: z.record(z.string().min(1), z.string()).default({}).describe('Variables for the console; win over process variables.'),
  envsConfigMap: z
    .string()
    .min(1)
    .optional()
    .describe('ConfigMap in `kubernetes.namespace` whose data win over `console.envs`, for those who may see it.'),
  debugImage: z
    .string()
    .regex(/^[^\s]{1,512}$/, 'must be the name of an image')
    .optional()
    .describe(
      'Image of the containers that the console adds to pods for debugging, as the variable `debug.image`; `console.envs` and the ConfigMap win over it. Default: the one that the console knows.',
    ),
  recurveIndex: z.boolean().default(true).describe('A missing page gets the nearest index upwards, not only the one of the root.'),
  imageNamespaces: z
    .array(dnsLabel())
    .min(1)
    .refine(isUnique, 'must not hold a namespace twice')
    .optional()
    .describe(
      'Namespaces in which images are looked for, in order; one in which the caller may not get the ConfigMap is passed over. Default: `kubernetes.namespace`.',
    ),
  languages: z
    .array(language)
    .min(1)
    .refine((languages) => isUnique(languages.map(({ id }) => id)), 'must not hold an id twice')
    .default([{ id: 'en', name: 'English' }])
    .describe('Languages of the console, in order.'),
  plugins: z
    .strictObject({
      caFile: path()
        .optional()
        .describe(
          'PEM file of the certificate authorities that vouch for the Services of console plugins, each by its name `<service>.<namespace>.svc`; read again when it changes. A proxy of a ConsolePlugin may name its own (`caCertificate`). Default: those of the system.',
        ),
    })
    .prefault({})
    .describe('Services that console plugins come from or talk to.'),
  static: z
    .strictObject({
      directory: path()
        .default(defaultStaticDirectory)
        .describe(
          'Directory of the static files, read at the start and again within a minute after a change. Unset: the one that comes with the service.',
        ),
      fallback: z
        .string()
        .regex(/^[^/\\]+$/, 'must be a file name without a path')
        .default('index.html')
        .describe('The index: answers a directory, and a missing path that a page asks for.'),
      csp: z
        .string()
        .regex(/^[\x20-\x7e]+$/, 'must be printable ASCII')
        .default(contentSecurityPolicy)
        .describe('Content-Security-Policy of HTML answers.'),
      keepPrevious: duration()
        .prefault('1h')
        .describe(
          'Time that files with a hash in their name stay after a change of the directory, up to 256 MiB, so that open pages survive an upgrade. `0s`: none.',
        ),
    })
    .prefault({}),
});

const feature = (what: string, isOn = true) => z.boolean().default(isOn).describe(what);

const features = z.strictObject({
  openapi: feature('`GET /openapi/v3`.'),
  docs: feature('`GET /docs`, the page that shows it; off too without `features.openapi`.'),
  discovery: feature('`GET /apis` and below, so that kubectl finds the resources here.'),
  pubkey: feature('`GET /auth/v1/pubkey`, and encrypted passwords.'),
  me: feature('`GET /auth/v1/me`.'),
  kubeconfig: feature('`GET /auth/v1/kubeconfig`.'),
  accessTokens: feature('Access tokens, and the token webhook of the API server. Off, tokens that were made before do not count.'),
  factors: feature('Second factors at the embedded issuer. Off, none is asked, whatever users have set up.'),
  linkedAccounts: feature('`/auth/v1/links`: linking accounts of several issuers. Off, those that are linked still count.'),
  links: feature('One-time links of local users: invitation, forgotten password. Off, none counts that was made before.'),
  groups: feature('Groups of users that are kept here, and their operations.'),
  userBindings: feature('UserBindings, their operations and the controller that makes them RBAC.'),
  accessRequests: feature('Access for a while: AccessPolicies, AccessRequests and their operations. Needs `features.userBindings`.', false),
  sessions: feature('`/auth/v1/sessions`: seeing and ending sessions.'),
  watch: feature('Live lists of users as server-sent events.'),
  namespaces: feature('`GET /auth/v1/namespaces`.'),
  explorer: feature('The access explorer: `/auth/v1/accesssubjects`, `accessrules`, `subjectaccessreviews` and `simulations`.'),
  explain: feature('`?explain=true` on access reviews.'),
  pluginAssets: feature('`GET /plugins/…`: files of console plugins.'),
  kubernetesProxy: feature('`/api/kubernetes/…`: the Kubernetes API, as the caller.'),
  pluginProxy: feature('`/api/proxy/plugin/…`: the proxy to the Services of console plugins.'),
  backchannelLogout: feature('`POST /api/v2/token/backchannel-logout`.'),
  version: feature('`GET /version`.'),
  metrics: feature('`GET /metrics` on the public port, for those who may get that path.'),
  cpuProfile: z.boolean().default(false).describe('`POST /debug/v1/cpuprofile`, for those who may post to that path.'),
});

const log = z.strictObject({
  level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info').describe('Least level that is logged.'),
  format: z.enum(['json', 'pretty']).default('json').describe('JSON lines, or text for a terminal.'),
});

const audit = z.strictObject({
  kubernetesEvents: z.boolean().default(true).describe('Record what happens to an object as Kubernetes Events too.'),
});

const tracing = z.strictObject({
  otlpEndpoint: z
    .url({ protocol: /^https?$/, error: 'must be an absolute http or https URL' })
    .refine((text) => !/[?#@]/.test(text), 'must hold no user, query or fragment')
    .optional()
    .describe('Collector that spans are sent to, as JSON to `<endpoint>/v1/traces` (OTLP/HTTP). Without it no span is recorded.'),
  caFile: path().optional().describe('PEM bundle that verifies the collector, beside the authorities of the system.'),
  sampleRatio: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .describe('Part of the requests without a `traceparent` that is recorded. Callers who send one decide by its flag.'),
});

export const configSchema = z.strictObject({
  server: server.prefault({}).describe('The listener.'),
  kubernetes: kubernetes.prefault({}).describe('The API server.'),
  console: consoleSection.prefault({}).describe('The console and its files.'),
  login: loginSection.prefault({}).describe('Logging people in by OpenID Connect.'),
  identity: identitySection.prefault({}).describe('The embedded OpenID provider for local users.'),
  users: usersSection.prefault({}).describe('User records.'),
  smtp: smtpSection.prefault({}).describe('The mail server.'),
  lists: listsSection.prefault({}).describe('Lists of any resource.'),
  features: features.prefault({}).describe('Switches of the extensions: off means 404.'),
  accessRequests: accessRequestsSection.prefault({}).describe('Access for a while (`features.accessRequests`).'),
  log: log.prefault({}).describe('The process log.'),
  audit: audit.prefault({}).describe('The audit trail.'),
  tracing: tracing.prefault({}).describe('Traces of requests (OpenTelemetry).'),
});

export type Config = Readonly<z.output<typeof configSchema>>;

/** Returns the base path of all operations: `''`, or `/console` for a public URL of `https://example.com/console/`. */
export const basePathOf = (config: Config): string =>
  config.server.publicURL === undefined ? '' : new URL(config.server.publicURL).pathname.replace(/\/{1,8}$/, '');
