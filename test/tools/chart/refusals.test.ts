import { expect } from 'chai';
import { wrongFilters, wrongMembers, wrongSettings, wrongValues } from '../../service/config/wrong-values.ts';
import { chart, helm, refusal, renderText, type Values } from './chart.ts';

/** Invalid values, and the expected messages. */
const wrong: [Values, string][] = [
  [{ imgae: {} }, "additional properties 'imgae' not allowed"],
  [{ image: null }, "missing property 'image'"],
  [{ 'image.pullPolicy': 'Sometimes' }, "at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"],
  [{ 'image.digest': 'sha256:abc' }, "at '/image/digest'"],
  [{ replicaCount: 'two' }, "at '/replicaCount': got string, want integer"],
  [{ replicaCount: -1 }, "at '/replicaCount': minimum"],
  [{ 'service.type': 'Loadbalancer' }, "at '/service/type'"],
  [{ 'service.port': 70_000 }, "at '/service/port'"],
  [{ tolerations: [{ efect: 'NoSchedule' }] }, "at '/tolerations/0': additional properties 'efect' not allowed"],
  [{ extraEnv: [{ name: 'A', val: 'B' }] }, "at '/extraEnv/0'"],
  [{ 'resources.limit': {} }, "at '/resources': additional properties 'limit' not allowed"],
  [{ 'podSecurityContext.runAsNonroot': true }, "at '/podSecurityContext'"],
  [{ 'admin.email': 'a@b@c' }, "at '/admin/email'"],
  [{ 'networkPolicy.egress.apiServerCIDRs': ['10.0.0.1'] }, "at '/networkPolicy/egress/apiServerCIDRs/0'"],
  [{ 'config.server.prot': 8080 }, "at '/config/server': additional properties 'prot' not allowed"],
  [{ 'config.server.port': 'http' }, "at '/config/server/port': got string, want integer"],
  [{ 'config.server.publicURL': 'console.example.com' }, "at '/config/server/publicURL'"],
  [{ 'config.server.bodyLimit': '1 MB' }, "at '/config/server/bodyLimit'"],
  [{ 'config.login.issuer': 'ldap://example.com' }, "at '/config/login/issuer'"],
  [{ 'config.users.ldap': [{ id: 'a', name: 'A', url: 'https://a.example.com', baseDN: 'dc=a' }] }, "at '/config/users/ldap/0/url'"],
  [{ 'config.login.session.idle': '12 hours' }, "at '/config/login/session/idle'"],
  [{ 'config.identity.loginPage.logo': '//evil.example' }, "at '/config/identity/loginPage/logo'"],
  [{ profile: 'teams' }, "at '/profile': value must be one of 'team', 'minimal'"],
  [{ 'config.profile': 'big' }, "at '/config/profile': value must be one of 'team', 'minimal'"],
  [{ 'config.server.publicURL': null }, "at '/config/server/publicURL': got null, want string"],
  [
    { 'config.server.trustedProxies': ['10.0.0.0/99'] },
    "at '/config/server/trustedProxies/0': value must be 'an address or a CIDR range such as 10.0.0.0/8'",
  ],
  [{ 'admin.email': 'ada' }, "at '/admin/email': value must be 'an e-mail address'"],
  [{ 'config.kubernetes.credentials': 'both' }, "at '/config/kubernetes/credentials'"],
  [
    { terminationGracePeriodSeconds: 20 },
    'terminationGracePeriodSeconds: 20 would cut requests off: preStopSeconds and config.server.shutdownGrace need 30',
  ],
  [
    { 'certificateAuthority.existingSecret': 'a', 'certificateAuthority.existingConfigMap': 'b' },
    'certificateAuthority: name existingConfigMap or existingSecret',
  ],
  [
    { 'pluginCertificateAuthority.existingSecret': 'a', 'pluginCertificateAuthority.existingConfigMap': 'b' },
    'pluginCertificateAuthority: name existingConfigMap or existingSecret',
  ],
  [{ 'config.features.accesstokens': true }, "at '/config/features': additional properties 'accesstokens' not allowed"],
  [{ 'rbac.userBindings': null }, "at '/rbac': missing property 'userBindings'"],
  [{ 'ingress.hosts': [{ host: 'a.example.com', path: '/' }] }, "at '/ingress/hosts/0': additional properties 'path' not allowed"],
  [{ imagePullSecrets: ['registry'] }, "at '/imagePullSecrets/0': got string, want object"],
  [{ 'podDisruptionBudget.maxUnavailable': null }, 'podDisruptionBudget: set maxUnavailable or minAvailable'],
  [{ 'metrics.serviceMonitor.relabelings': [{ target_label: 'a' }] }, "at '/metrics/serviceMonitor/relabelings/0': additional properties"],
  [{ 'httpRoute.enabled': true }, 'httpRoute.parentRefs: name the Gateway'],
  [{ 'metrics.serviceMonitor.enabled': true, 'metrics.service.enabled': false }, 'metrics.serviceMonitor needs metrics.service.enabled'],
];

/** Values for access through a proxy. */
const behindProxy: Record<string, Values> = {
  'ingress.enabled': { 'ingress.enabled': true },
  'httpRoute.enabled': { 'httpRoute.enabled': true, 'httpRoute.parentRefs': [{ name: 'gateway' }] },
};

describe('the chart', () => {
  it('passes helm lint --strict', async () => {
    expect(await helm('lint', '--strict', chart)).to.include('0 chart(s) failed');
  });

  for (const [values, reason] of wrong) {
    it(`refuses ${JSON.stringify(values)} with the path`, async () => {
      expect(await refusal(values)).to.include(reason);
    });
  }

  for (const round of [0, 1, 2])
    for (const table of [wrongSettings, wrongMembers, wrongFilters, wrongValues]) {
      const prefix = table === wrongValues ? '' : 'config.';
      const wrong = Object.entries(table).map(([path, values]) => [`${prefix}${path}`, values[round]]);

      it(`refuses ${wrong.length} values that have another format, round ${round + 1}`, async () => {
        const reasons = await refusal(Object.fromEntries(wrong));

        expect(
          wrong.map(([path]) => `at '/${String(path).replaceAll('.', '/')}`).filter((place) => !reasons.includes(place)),
        ).to.deep.equal([]);
        expect(reasons).not.to.include('pattern');
      });
    }

  for (const [setting, values] of Object.entries(behindProxy)) {
    it(`S9 refuses ${setting} without config.server.trustedProxies and names the missing setting`, async () => {
      const server = { publicURL: 'https://console.example.com' };
      const reason = `config.server.trustedProxies: list the addresses of the proxy behind ${setting} as the pods see them`;

      expect(await refusal({ ...values, 'config.server': server })).to.include(reason);
      expect(await refusal({ ...values, 'config.server': { ...server, trustedProxies: [] } })).to.include(reason);
      expect(await renderText({ ...values, 'config.server': { ...server, trustedProxies: ['10.0.0.0/8'] } })).to.include('10.0.0.0/8');
    });
  }

  it('refuses an installation that no browser can reach, with the missing setting', async () => {
    const error = await helm('template', 'atrium', chart, '--kube-version=1.36.0').then(() => '', String);

    expect(error).to.include('config.server.publicURL: name the address under which browsers reach the service, such as https://');
  });

  it('refuses a Kubernetes version that lacks required features', async () => {
    const error = await renderText({}, '--kube-version=1.30.0').then(() => '', String);

    expect(error).to.include('chart requires kubeVersion: >=1.31.0-0');
  });

  it('accepts all settings of the service', async () => {
    const config = {
      server: { publicURL: 'https://console.example.com', bodyLimit: 65_536, shutdownGrace: '1m', trustedProxies: ['10.0.0.0/8'] },
      login: { issuer: 'https://issuer.example.com/realms/a', claims: { groupsPrefix: 'oidc:' }, tokenStorage: ['local'] },
      identity: { loginPage: { logo: '/api/v1/cm/logos/logo.svg' } },
      users: {
        idleDays: 0,
        v1List: { sunset: '2027-01-31' },
        ldap: [{ id: 'staff', name: 'Staff', url: 'ldaps://directory.example.com', baseDN: 'dc=example,dc=com' }],
      },
    };

    expect(await renderText({ config })).to.include('terminationGracePeriodSeconds: 70');
  });
});
