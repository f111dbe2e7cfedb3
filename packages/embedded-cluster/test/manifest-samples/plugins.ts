import { BLOCKED, type SampleObject, sample } from './sample.ts';

const plugin = (spec: Record<string, unknown> = {}, name = 'metrics'): SampleObject => ({
  metadata: { name },
  spec: { displayName: 'Metrics', ...spec },
});
const service = (overrides: Record<string, unknown> = {}) => ({ name: 'metrics', namespace: 'monitoring', port: 443, ...overrides });
const LABEL = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';

export const plugins = [
  sample('accepts a plugin of ConfigMaps', plugin()),
  sample('accepts a plugin of a Service', plugin({ backend: { service: service() } })),
  sample('refuses a plugin whose name is no DNS label', plugin({}, 'my.metrics'), [
    '<nil>: Invalid value: the name must be a DNS label of at most 63 characters',
  ]),
  sample('refuses a plugin whose name is too long', plugin({}, 'm'.repeat(64)), [
    '<nil>: Invalid value: the name must be a DNS label of at most 63 characters',
  ]),
  sample('refuses an address as Service', plugin({ backend: { service: service({ name: '169.254.169.254' }) } }), [
    `spec.backend.service.name: Invalid value: "169.254.169.254": spec.backend.service.name in body should match '${LABEL}'`,
  ]),
  sample('refuses the API server as Service', plugin({ backend: { service: service({ name: 'kubernetes', namespace: 'default' }) } }), [
    'spec.backend.service: Invalid value: the API server cannot be the service of a plugin',
  ]),
  sample('accepts a Service called kubernetes elsewhere', plugin({ backend: { service: service({ name: 'kubernetes' }) } })),
  sample('refuses a base path that leads upwards', plugin({ backend: { service: service({ basePath: '/a/../b' }) } }), [
    'spec.backend.service.basePath: Invalid value: "/a/../b": the path must not lead upwards',
  ]),
  sample('refuses ports that do not exist', plugin({ backend: { service: service({ port: 65536 }) } }), [
    'spec.backend.service.port: Invalid value: 65536: spec.backend.service.port in body should be less than or equal to 65535',
  ]),
  sample('refuses half a port', plugin({ backend: { service: service({ port: 1.5 }) } }), [
    'spec.backend.service.port: Invalid value: "number": spec.backend.service.port in body must be of type integer: "number"',
    BLOCKED,
  ]),
  sample('refuses an order below zero', plugin({ order: -1 }), [
    'spec.order: Invalid value: -1: spec.order in body should be greater than or equal to 0',
  ]),
  sample('accepts proxies', plugin({ proxy: [{ alias: 'api', service: service(), authorization: 'UserToken' }] })),
  sample(
    'refuses the API server behind a proxy',
    plugin({ proxy: [{ alias: 'api', service: service({ name: 'kubernetes', namespace: 'default' }) }] }),
    ['spec.proxy[0].service: Invalid value: the API server cannot be the service of a plugin'],
  ),
  sample(
    'refuses a base path that leads upwards behind a proxy',
    plugin({ proxy: [{ alias: 'api', service: service({ basePath: '..' }) }] }),
    ['spec.proxy[0].service.basePath: Invalid value: "..": the path must not lead upwards'],
  ),
  sample('refuses an alias that is a path', plugin({ proxy: [{ alias: 'a/b', service: service() }] }), [
    `spec.proxy[0].alias: Invalid value: "a/b": spec.proxy[0].alias in body should match '^[A-Za-z0-9_-]+$'`,
  ]),
  sample(
    'accepts sources for the content security policy',
    plugin({ contentSecurityPolicy: [{ directive: 'ImgSrc', values: ['https://images.example.com', 'data:'] }] }),
  ),
  ...['*', "'unsafe-inline'", 'a b', 'a;b', 'a,b', 'a"b', 'a\tb'].map((value) =>
    sample(`refuses ${value} as a source for it`, plugin({ contentSecurityPolicy: [{ directive: 'ImgSrc', values: ['data:', value] }] }), [
      `spec.contentSecurityPolicy[0].values[1]: Invalid value: ${JSON.stringify(value)}: must be one source without quotes, and not everything`,
    ]),
  ),
  sample(
    'refuses the same directive twice',
    plugin({
      contentSecurityPolicy: [
        { directive: 'ImgSrc', values: ['a'] },
        { directive: 'ImgSrc', values: ['b'] },
      ],
    }),
    ['spec.contentSecurityPolicy[1]: Duplicate value: {"directive":"ImgSrc"}'],
  ),
];
