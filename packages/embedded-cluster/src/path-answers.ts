/** Answers for paths that are no resource: health, version, discovery, schemas. */
import { notImplemented } from '@atrium/objects/status.ts';
import { aggregatedDiscovery, coreVersions, groupList, groupOf, resourceList } from './discovery.ts';
import { methodRefused, pathUnknown, sendBytes, sendJson, sendText } from './exchange.ts';
import { openAPIDocument, openAPIIndex } from './openapi.ts';
import { openAPIV2Answer } from './openapi-v2.ts';
import type { Backend, Exchange } from './resources.ts';

const aggregatedAccept = /application\/json;g=apidiscovery\.k8s\.io;v=(v2|v2beta1);as=APIGroupDiscoveryList/;

/** @throws StatusError 404, 405 or 501 */
export function answerPath(exchange: Exchange): void {
  const { request, info } = exchange;
  if (request.method !== 'GET' && request.method !== 'HEAD') throw methodRefused();
  const path = info.path.replace(/\/{1,8}$/, '') || '/';
  const aggregated = aggregatedAccept.exec((request.headers.accept ?? '').replaceAll(/\s/g, ''))?.[1];
  if (/^\/(livez|readyz|healthz)(\/|$)/.test(path)) sendText(exchange, 200, 'ok');
  else if (aggregated && (path === '/api' || path === '/apis')) sendAggregated(exchange, path === '/api', aggregated);
  else if (path === '/openapi/v2') sendBytes(exchange, 200, ...openAPIV2Answer(exchange.backend.registry, request.headers.accept));
  else sendJson(exchange, 200, documentAt(exchange, path));
}

function sendAggregated(exchange: Exchange, isCore: boolean, version: string): void {
  const contentType = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  exchange.response.setHeader('Vary', 'Accept');
  sendJson(exchange, 200, aggregatedDiscovery(exchange.backend.registry, isCore, version), contentType);
}

function documentAt({ request, backend: { registry } }: Exchange, path: string): unknown {
  switch (path) {
    case '/':
      return { paths: ['/api', '/apis', '/healthz', '/livez', '/openapi/v2', '/openapi/v3', '/readyz', '/version'] };
    case '/version':
      return versionInfo;
    case '/api':
      return coreVersions(request.headers.host ?? '');
    case '/apis':
      return groupList(registry);
    case '/openapi/v3':
      return openAPIIndex(registry);
    case '/metrics':
    case '/openid/v1/jwks':
    case '/.well-known/openid-configuration':
      throw notImplemented(path);
  }
  const found = discoveryAt(registry, path);
  if (!found) throw pathUnknown();
  return found;
}

function discoveryAt(registry: Backend['registry'], path: string): unknown {
  const [first, second = '', third = '', ...more] = path.slice(1).split('/');
  if (first === 'openapi' && second === 'v3') return openAPIDocument(registry, [third, ...more].join('/'));
  if (more.length > 0) return undefined;
  if (first === 'api' && !third) return resourceList(registry, '', second);
  if (first !== 'apis') return undefined;
  return third ? resourceList(registry, second, third) : groupOf(registry, second);
}

const versionInfo = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0+atrium',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: '',
  compiler: '',
  platform: `${process.platform}/${process.arch}`,
};
