/** Values of the chart that have a format, each with three wrong ones. Settings of the service begin with `config`. */
type Wrong = readonly [unknown, unknown, unknown];

const url: Wrong = ['console.example.com', 'ftp://console.example.com', 'https://'];
const plainURL: Wrong = ['console.example.com', 'https://console.example.com?a=b', 'https://user@console.example.com'];
const range: Wrong = ['10.0.0.0/99', '10.0.0.300/8', 'fd00::/129'];
const host: Wrong = ['mail example', 'https://mail.example.com', '-mail.example.com'];
const duration: Wrong = ['12 hours', '1.5h', 'h'];
const quantity: Wrong = ['lots', '1 Gi', '100MB'];
const labels: Wrong = [{ 'a b': 'c' }, { team: 'not a label' }, { '-team': 'a' }];
const annotations: Wrong = [{ 'a b': 'c' }, { 'example.com//a': 'c' }, { '-a': 'c' }];
const selector: Wrong = [{ matchLabel: {} }, { matchLabels: { 'a b': 'c' } }, { matchExpressions: [{ key: 'a', operator: 'Equals' }] }];
const name: Wrong = ['Upper', 'a_b', '-a'];
const label: Wrong = ['a.b', 'UPPER', '-a'];
const key: Wrong = ['a b', 'a/b', 'ä'];
const routed: Wrong = ['https://a.example.com', '*a.example.com', 'a_b.example.com'];
const prometheus: Wrong = ['30', '1 minute', '5x'];
const dn: Wrong = ['example.com', '=a', 'dc'];
const filter: Wrong = ['person', '(objectClass=person', '(objectClass)'];
const address: Wrong = ['ada', 'ada@', '@example.com'];
const ip: Wrong = ['10.0.0.300', 'example.com', '10.0.0'];
const apiPath: Wrong = ['apis', '/apis/', '/a b'];
const port: Wrong = [-1, 70_000, 'http'];

const webhook = { name: 'chat', url: 'https://chat.example.com', secretFile: '/etc/secret' };
const connector = { id: 'corp', name: 'Corp', url: 'ldaps://ldap.example.com', baseDN: 'dc=example' };
const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' };

/** Returns an item of a list with a member that is wrong. */
const inList =
  (item: object) =>
  (member: string, wrong: Wrong): Wrong =>
    wrong.map((value) => [{ ...item, [member]: value }]) as unknown as Wrong;
const list = (wrong: Wrong): Wrong => wrong.map((value) => [value]) as unknown as Wrong;

const ofWebhook = inList(webhook);
const ofConnector = inList(connector);
const ofIssuer = inList({ id: 'main' });
const ofResource = inList({ version: 'v1', resource: 'pods' });

/** Settings of the service by their path, which the service refuses too. The last part of a path with `[0]` is in a list. */
export const wrongSettings: Readonly<Record<string, Wrong>> = {
  'server.host': ['a b', 'https://a.example.com', '10.0.0.0/8'],
  'server.port': port,
  'server.publicURL': plainURL,
  'server.trustedProxies': list(range),
  'server.corsOrigins': list(['console.example.com', 'https://console.example.com/', 'https://console.example.com/a']),
  'server.metricsPort': port,
  'server.bodyLimit': ['1 MB', '1MB', -1],
  'server.requestTimeout': duration,
  'server.shutdownGrace': duration,
  'kubernetes.namespace': label,
  'kubernetes.publicURL': plainURL,
  'kubernetes.accessCache': duration,
  'kubernetes.requestTimeout': duration,
  'kubernetes.proxy.paths': list(apiPath),
  'kubernetes.proxy.idleTimeout': duration,
  'kubernetes.proxy.pingInterval': duration,
  'console.apiAddress': ['console.example.com', 'ftp://console.example.com', 'https://a b'],
  'console.assetsURLPath': ['assets', '/assets', 'assets/'],
  'console.envsConfigMap': name,
  'console.debugImage': ['', 'busy box', ' '],
  'console.imageNamespaces': list(label),
  'console.languages': inList({ id: 'en', name: 'English' })('id', ['e', 'en_US', 'e n']),
  'console.static.fallback': ['a/b', '', '..\\a'],
  'console.static.csp': ['', 'ä', 'a\nb'],
  'console.static.keepPrevious': duration,
  'login.issuer': url,
  'login.postLogoutRedirectURLs': list(url),
  'login.logoutURL': url,
  'login.externalURL': url,
  'login.redirectURLs': list(url),
  'login.issuers': ofIssuer('issuer', url),
  'tokenExchange.issuers': inList({ id: 'ci', issuer: 'https://ci.example.com', audience: 'a' })('audience', ['', 'a b', 'ä']),
  'tokenExchange.tokenTTL': duration,
  'login.session.idle': duration,
  'login.session.absolute': duration,
  'login.factors.grace': duration,
  'login.stepUp.maxAge': duration,
  'login.keysSecret': name,
  'identity.clients': inList({ id: 'cli' })('redirectURLs', list(url)),
  'identity.loginPage.logo': ['logo.svg', '//evil.example', 'https://a.example.com/logo.svg'],
  'identity.accessTokenTTL': duration,
  'identity.idTokenTTL': duration,
  'identity.refreshTokenTTL': duration,
  'users.lockout.window': duration,
  'users.lockout.duration': duration,
  'users.certificates.signerName': ['example', 'Example.com/people', 'a b/c'],
  'users.sync.schedule': duration,
  'users.ldap': ofConnector('url', ['https://a.example.com', 'ldap.example.com', 'ldaps://']),
  'users.v1List.deprecatedAt': ['2026', '01.02.2026', '2026-13-01'],
  'users.v1List.sunset': ['2026', '01.02.2026', '2026-02-31'],
  'smtp.host': host,
  'smtp.port': [0, 70_000, 'smtp'],
  'smtp.name': ['a b', 'a_b', '-'].map((text) => `${text}!`) as unknown as Wrong,
  'smtp.from': ['ada', 'ada@', 'Ada <ada>'],
  'lists.resources': ofResource('resource', ['Pods', 'pods.apps', 'a b']),
  'accessRequests.webhooks': ofWebhook('url', ['chat.example.com', 'ftp://chat.example.com', 'https://user@chat.example.com']),
  'tracing.otlpEndpoint': plainURL,
};

/** Members of lists whose other members are in `wrongSettings`. */
export const wrongMembers: Readonly<Record<string, Wrong>> = {
  'users.ldap': ofConnector('baseDN', dn),
  'login.issuers': ofIssuer('redirectURL', url),
  'lists.resources': ofResource('version', ['1', 'v', 'v1gamma1']),
  'accessRequests.webhooks': ofWebhook('name', label),
  'identity.clients': inList({ id: 'cli' })('backchannelLogoutURL', url),
};

/** @see wrongMembers */
export const wrongFilters: Readonly<Record<string, Wrong>> = { 'users.ldap': ofConnector('filter', filter) };

/** Values that only the chart has. */
export const wrongValues: Readonly<Record<string, Wrong>> = {
  profile: ['teams', '', 'Team'],
  nameOverride: name,
  fullnameOverride: name,
  namespaceOverride: name,
  commonLabels: labels,
  commonAnnotations: annotations,
  'image.registry': ['https://registry.example.com', 'a b', '-a'],
  'image.repository': ['Atrium', 'a b', ''],
  'image.tag': ['a b', 'a/b', 'a:b'],
  'image.digest': ['sha256:abc', 'abc', 'md5:abc'],
  'clientSecret.existingSecret': name,
  'clientSecret.key': key,
  'certificateAuthority.key': key,
  'pluginCertificateAuthority.key': key,
  'admin.email': address,
  'admin.existingSecret': name,
  'admin.existingSecretKey': key,
  'resources.requests': [{ cpu: quantity[0] }, { cpu: quantity[1] }, { memory: quantity[2] }],
  'resources.limits': [{ cpu: quantity[0] }, { cpu: quantity[1] }, { memory: quantity[2] }],
  topologySpreadConstraints: inList(spread)('labelSelector', selector),
  nodeSelector: labels,
  annotations,
  podAnnotations: annotations,
  podLabels: labels,
  extraEnv: inList({ value: 'a' })('name', ['', 'A=B', 'A B']),
  extraVolumeMounts: inList({ name: 'a' })('mountPath', ['', 'data', '/data:ro']),
  hostAliases: inList({ hostnames: ['a.example.com'] })('ip', ip),
  'dnsConfig.nameservers': list(ip),
  'dnsConfig.searches': list(host),
  'serviceAccount.annotations': annotations,
  'accessRequests.sweep.schedule': ['every five minutes', '*/5 * * *', '61 * * * *'],
  'service.port': [0, 70_000, 'http'],
  'service.annotations': annotations,
  'service.loadBalancerSourceRanges': list(range),
  'ingress.className': name,
  'ingress.annotations': annotations,
  'ingress.hosts': inList({})('host', routed),
  'ingress.tls': inList({ secretName: 'a' })('hosts', list(routed)),
  'httpRoute.annotations': annotations,
  'httpRoute.parentRefs': inList({})('name', name),
  'httpRoute.hostnames': list(routed),
  'httpRoute.timeouts.request': ['1d', '1.5h', 'soon'],
  'metrics.service.annotations': annotations,
  'metrics.serviceMonitor.namespace': name,
  'metrics.serviceMonitor.labels': labels,
  'metrics.serviceMonitor.interval': prometheus,
  'metrics.serviceMonitor.scrapeTimeout': prometheus,
  'metrics.prometheusRule.labels': labels,
  'metrics.prometheusRule.alertLabels': [{ 'a-b': 'c' }, { '1a': 'c' }, { 'a b': 'c' }],
  'metrics.dashboard.namespace': name,
  'metrics.dashboard.labels': labels,
  'networkPolicy.ingressFrom': inList({})('namespaceSelector', selector),
  'networkPolicy.metricsFrom': inList({})('podSelector', selector),
  'networkPolicy.egress.apiServerCIDRs': list(range),
  'networkPolicy.egress.dnsPorts': list([0, 70_000, 'dns']),
  'networkPolicy.egress.extra': inList({})('to', range.map((cidr) => [{ ipBlock: { cidr } }]) as unknown as Wrong),
};
