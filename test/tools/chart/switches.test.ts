import { expect } from 'chai';
import { parseConfig } from '../../../src/config/load.ts';
import { textOf } from './call-recorder.ts';
import { namespace, render, type Values } from './chart.ts';
import { grantsOf } from './granted.ts';

const home = `in ${namespace}`;
const lease = (name: string) => ['get', 'update'].map((verb) => `${verb} leases.coordination.k8s.io ${name} ${home}`);
const each = (verbs: string, resource: string) => verbs.split(' ').map((verb) => `${verb} ${resource}`);

/** Rights that the service account loses when a feature is turned off. */
const lost: Readonly<Record<string, readonly string[]>> = {
  accessRequests: [
    ...each('list watch', 'accesspolicies.auth.platform.io'),
    ...each('get list watch create delete', 'accessrequests.auth.platform.io'),
    ...each('get list watch', 'bindingreviews.auth.platform.io'),
    ...['accesspolicies', 'accessrequests', 'bindingreviews'].map((resource) => `patch ${resource}.auth.platform.io/status`),
    'create userbindings.auth.platform.io',
    ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].flatMap((resource) =>
      ['accesspolicies', 'accessrequests', 'bindingreviews', 'userbindings'].map(
        (name) => `get ${resource}.admissionregistration.k8s.io ${name}.auth.platform.io`,
      ),
    ),
    ...lease('atrium-access-requests'),
    ...lease('atrium-binding-reviews'),
  ],
  accessTokens: [
    ...each('list watch create delete', 'accesstokens.auth.platform.io'),
    'patch accesstokens.auth.platform.io/status',
    ...['users', 'groups', 'uids.authentication.k8s.io'].map((resource) => `impersonate ${resource}`),
  ],
  groups: [...each('get watch', 'groups.auth.platform.io'), 'patch groups.auth.platform.io/status', ...lease('atrium-group-states')],
  pluginAssets: ['patch consoleplugins.console.platform.io/status', ...lease('atrium-plugin-states')],
  userBindings: [
    'watch userbindings.auth.platform.io',
    'patch userbindings.auth.platform.io/status',
    ...each('create patch delete', 'rolebindings.rbac.authorization.k8s.io'),
    ...each('create patch delete', 'clusterrolebindings.rbac.authorization.k8s.io'),
    ...['atrium-users-view', 'view', 'edit', 'admin'].map((role) => `bind clusterroles.rbac.authorization.k8s.io ${role}`),
    ...lease('atrium-user-bindings'),
  ],
};

/** Values with all features. The API server trusts the issuer, so that only features require impersonation. */
const all = {
  'config.server.publicURL': 'https://console.example.com',
  'config.login.issuer': 'https://issuer.example.com',
  'config.features.accessRequests': true,
  'config.features.accessTokens': true,
  'config.features.userBindings': true,
  'rbac.impersonation.constrained': false,
};

const rights = async (values: Values = {}) =>
  grantsOf(await render({ ...all, ...values }), { name: 'atrium', namespace })
    .map(textOf)
    .sort();

describe('the rights of the service when a feature is turned off', () => {
  let most: readonly string[];
  before(async () => {
    most = await rights();
  });

  it('are named once each with all features on', () => {
    expect(most).to.deep.equal([...new Set(most)]);
  });

  for (const feature of Object.keys(parseConfig({ yaml: '' }).features)) {
    const gone = lost[feature] ?? [];
    it(`${gone.length === 0 ? 'are the same' : `lack ${gone.length}`}: ${feature}`, async () => {
      const left = await rights({ [`config.features.${feature}`]: false });

      expect(most.filter((right) => !left.includes(right))).to.have.members([...gone]);
      expect(left.filter((right) => !most.includes(right))).to.deep.equal([]);
    });
  }

  it('lack the ones to namespaces only without both features that need them', async () => {
    const left = await rights({ 'config.features.userBindings': false, 'config.features.namespaces': false });

    expect(most.filter((right) => !left.includes(right))).to.have.members([
      ...(lost.userBindings ?? []),
      ...each('list watch', 'namespaces'),
    ]);
  });

  it('are the least by default', async () => {
    const off = ['accessRequests', 'accessTokens', 'userBindings'];
    const least = await rights(Object.fromEntries(off.map((feature) => [`config.features.${feature}`, false])));
    const server = { publicURL: 'https://console.example.com' };
    const byDefault = grantsOf(await render({ config: { server, login: { issuer: 'https://issuer.example.com' } } }), {
      name: 'atrium',
      namespace,
    });

    expect(byDefault.map(textOf).sort()).to.deep.equal(least);
  });
});
