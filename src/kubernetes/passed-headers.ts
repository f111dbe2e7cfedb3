import type { IncomingHttpHeaders } from 'node:http';
import { badRequest } from '../api/status.ts';

/**
 * What the API server may learn of a request that is passed on: what is wanted, never who wants it. Only the client of the API server
 * says that.
 */
const ofRequest = [
  'accept',
  'accept-encoding',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'user-agent',
  'kubectl-command',
  'kubectl-session',
];

/** In addition, of one that asks for another protocol. */
const ofUpgrade = [
  'x-stream-protocol-version',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
];

/** What every server on the way reads as one header with one value. */
const plainValue = /^[\t\x20-\x7e]{1,8192}$/;

/**
 * The headers of a request that go along. What its `Connection` names is for us (RFC 9110, 7.6.1).
 *
 * @throws StatusError 400 for one that is not plain: without it, the request would mean something else
 */
export function passedHeaders(headers: IncomingHttpHeaders, isUpgrade: boolean): Record<string, string> {
  const nominated = new Set((headers.connection ?? '').toLowerCase().split(/[\s,]+/));
  const passed: Record<string, string> = {};
  for (const name of isUpgrade ? [...ofRequest, ...ofUpgrade] : ofRequest) {
    const value = headers[name];
    if (value === undefined || value === '' || nominated.has(name)) continue;
    const text = [value].flat().join(', ');
    if (!plainValue.test(text)) throw badRequest(`the header ${name} holds characters that cannot be passed on`);
    passed[name] = text;
  }
  return passed;
}
