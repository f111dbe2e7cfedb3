import type { IncomingHttpHeaders } from 'node:http';
import { badRequest } from '../api/status.ts';

/** Headers of a request that are forwarded. None of them identifies the caller, which is left to the client of the API server. */
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

/** Further headers of a request for another protocol. */
const ofUpgrade = [
  'x-stream-protocol-version',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
];

/** Values that every proxy reads as one header with one value. */
const plainValue = /^[\t\x20-\x7e]{1,8192}$/;

/**
 * Returns the headers that are forwarded. Headers that `Connection` names are for this hop alone (RFC 9110, 7.6.1).
 *
 * @throws StatusError 400 for a value that is not plain: without it, the request would have another meaning
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
