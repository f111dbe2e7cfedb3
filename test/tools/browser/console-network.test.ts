/** Pages of Services, EndpointSlices, NetworkPolicies, Gateways and HTTPRoutes. */
import { expect } from 'chai';
import { type Demo, loggedIn } from './demo.ts';
import { create, inspect, merge, part } from './kind-pages.ts';

const slices = 'apis/discovery.k8s.io/v1/namespaces/shop/endpointslices';

const endpoint = (address: string, conditions: object) => ({
  ...{ addresses: [address], conditions, nodeName: 'node-2' },
  targetRef: { kind: 'Pod', name: `pod-${address}`, namespace: 'shop', uid: address },
});

describe('the endpoints of a Service', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('cause a warning while none exist, and are shown when they are added, with links', async () => {
    await create(demo, 'api/v1/namespaces/shop/services', { metadata: { name: 'external' }, spec: { ports: [{ port: 80 }] } });
    await page.goto(`${demo.url}/r/core/v1/services/ns/shop/external`);
    const endpoints = part(page, 'Endpoints');
    await endpoints.getByText('This Service has no endpoints: requests to it fail.').waitFor();
    await create(demo, slices, {
      metadata: { name: 'external-1', labels: { 'kubernetes.io/service-name': 'external' } },
      ...{ addressType: 'IPv4', ports: [{ name: 'web', port: 8080 }] },
      endpoints: [endpoint('10.0.0.1', { ready: true }), endpoint('10.0.0.2', { ready: false })],
    });
    await endpoints.getByText('1 of 2 endpoints is ready.').waitFor();
    expect(await endpoints.getByRole('row').nth(1).innerText()).to.match(/10\.0\.0\.2\s+NotReady\s+pod-10\.0\.0\.2\s+node-2/);
    expect(await endpoints.getByRole('link', { name: 'pod-10.0.0.1' }).getAttribute('href')).to.match(/\/pods\/ns\/shop\/pod-10\.0\.0\.1$/);
    await inspect(page, 'service-endpoints');
  });

  it('appear on the page of the EndpointSlice, which leads back to the Service', async () => {
    await page.goto(`${demo.url}/r/discovery.k8s.io/v1/endpointslices/ns/shop/external-1`);
    await part(page, 'Endpoints').getByText('10.0.0.1', { exact: true }).waitFor();
    expect(await page.getByRole('table', { name: 'Ports' }).innerText()).to.match(/web\s+8080\/TCP/);
    await inspect(page, 'endpoint-slice');
    await page.getByRole('main').getByRole('link', { name: 'external', exact: true }).click();
    await page.getByText('1 of 2 endpoints is ready.').waitFor();
  });
});

describe('the page of a NetworkPolicy', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('describes accepted traffic in sentences, and lists the pods', async () => {
    await page.goto(`${demo.url}/r/networking.k8s.io/v1/networkpolicies/ns/shop/cart`);
    const traffic = part(page, 'Traffic');
    await traffic
      .getByText('Pods with app=cart accept traffic from pods with app=storefront in this namespace on TCP port 8080.')
      .waitFor();
    await traffic.getByText('This policy does not restrict outgoing traffic.').waitFor();
    await part(page, 'Pods of the policy')
      .getByRole('link', { name: /^cart-/ })
      .first()
      .waitFor();
    await merge(demo, 'apis/networking.k8s.io/v1/namespaces/shop/networkpolicies/cart', { spec: { ingress: null } });
    await traffic.getByText('Pods with app=cart accept no traffic.').waitFor();
    await inspect(page, 'network-policy');
  });
});

const gatewayGroup = 'gateway.networking.k8s.io';

async function defineGatewayKinds(demo: Demo): Promise<void> {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  for (const [kind, plural] of Object.entries({ GatewayClass: 'gatewayclasses', Gateway: 'gateways', HTTPRoute: 'httproutes' }))
    await create(demo, 'apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: `${plural}.${gatewayGroup}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } },
      spec: {
        ...{
          group: gatewayGroup,
          scope: kind === 'GatewayClass' ? 'Cluster' : 'Namespaced',
          names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        },
        versions: [
          {
            ...{ name: 'v1', served: true, storage: true, subresources: { status: {} } },
            schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
          },
        ],
      },
    });
}

const condition = (type: string, status: string, reason: string, message = '') => ({
  ...{ type, status, reason, message, lastTransitionTime: '2026-01-12T08:30:00Z' },
});

describe('the pages of Gateways and HTTPRoutes', () => {
  const { demo, page } = loggedIn('admin', '/');
  const api = `apis/${gatewayGroup}/v1/namespaces/shop`;
  const apiVersion = `${gatewayGroup}/v1`;

  it('link listeners, certificates, routes and targets, and show failures', async () => {
    await defineGatewayKinds(demo);
    const listener = {
      name: 'https',
      hostname: '*.example.com',
      port: 443,
      protocol: 'HTTPS',
      tls: { certificateRefs: [{ name: 'edge-tls' }] },
    };
    await create(demo, `${api}/gateways`, {
      ...{ apiVersion, kind: 'Gateway', metadata: { name: 'edge' } },
      spec: { gatewayClassName: 'public', listeners: [listener] },
    });
    const conditions = [
      condition('Programmed', 'True', 'Programmed'),
      condition('ResolvedRefs', 'False', 'InvalidCertificateRef', 'No edge-tls'),
    ];
    await merge(demo, `${api}/gateways/edge/status`, {
      status: { addresses: [{ value: '203.0.113.9' }], listeners: [{ name: 'https', attachedRoutes: 1, conditions }] },
    });
    await create(demo, `${api}/httproutes`, {
      ...{ apiVersion, kind: 'HTTPRoute', metadata: { name: 'store' } },
      spec: {
        ...{ parentRefs: [{ name: 'edge', sectionName: 'https' }], hostnames: ['store.example.com'] },
        rules: [
          {
            matches: [{ path: { type: 'PathPrefix', value: '/cart' }, method: 'GET' }],
            backendRefs: [
              { name: 'storefront', port: 80, weight: 9 },
              { name: 'cart', port: 80, weight: 1 },
            ],
          },
        ],
      },
    });
    await page.goto(`${demo.url}/r/${apiVersion}/gateways/ns/shop/edge`);
    await part(page, 'HTTP routes of this gateway').getByRole('link', { name: 'store' }).waitFor();
    expect(await part(page, 'State of the listeners').getByRole('row').nth(1).innerText()).to.match(
      /Resolved refs\s+No\s+InvalidCertificateRef\s+No edge-tls/,
    );
    expect(await page.getByRole('link', { name: 'edge-tls' }).getAttribute('href')).to.match(/\/secrets\/ns\/shop\/edge-tls$/);
    await inspect(page, 'gateway');

    await part(page, 'HTTP routes of this gateway').getByRole('link', { name: 'store' }).click();
    const routes = part(page, 'Routes');
    await routes.getByText('GET /cart/*').waitFor();
    expect(await routes.getByRole('row').nth(1).innerText()).to.match(/storefront:80 90 %\s+cart:80 10 %/);
    await inspect(page, 'http-route');
    await routes.getByRole('link', { name: 'storefront' }).click();
    await page.getByRole('heading', { name: 'storefront' }).waitFor();
  });

  it('show the classes of Gateways and of Ingresses', async () => {
    await create(demo, `apis/${gatewayGroup}/v1/gatewayclasses`, {
      ...{ apiVersion, kind: 'GatewayClass', metadata: { name: 'public' } },
      spec: { controllerName: 'example.com/gateway', description: 'For traffic from everywhere.' },
    });
    await merge(demo, `apis/${gatewayGroup}/v1/gatewayclasses/public/status`, {
      status: { conditions: [condition('Accepted', 'False', 'InvalidParameters', 'No parameters.')] },
    });
    await page.goto(`${demo.url}/r/${apiVersion}/gatewayclasses/public`);
    await page.getByText('example.com/gateway').waitFor();
    await page.getByText('For traffic from everywhere.').waitFor();
    await page.getByRole('row', { name: /^Accepted No InvalidParameters No parameters\./ }).waitFor();
    await inspect(page, 'gateway-class');
    await create(demo, 'apis/networking.k8s.io/v1/ingressclasses', {
      metadata: { name: 'internal', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
      spec: { controller: 'example.com/ingress' },
    });
    await page.goto(`${demo.url}/r/networking.k8s.io/v1/ingressclasses/internal`);
    await page.getByText('example.com/ingress').waitFor();
    expect(await page.locator('.facts').first().innerText()).to.match(/Default class\s+Yes/);
    await inspect(page, 'ingress-class');
  });
});
