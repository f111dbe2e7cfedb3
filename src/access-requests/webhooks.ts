/** Sends events to the webhooks of the configuration, signed by Standard Webhooks 1.0 (https://www.standardwebhooks.com). */
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { Semaphore } from '@atrium/http/limits/semaphore.ts';
import { lookupOf, type Network, TrustingAgent } from '@atrium/http/outgoing.ts';
import { hostOf, isLoopback, type WebhookConfig } from '../config/access-requests-section.ts';
import type { Services } from '../services.ts';
import { accessOf } from './grant.ts';
import { type AccessEvent, type DeliveredMails, NoticeError, type Receiver } from './notices.ts';
import type { RequestRow } from './request.ts';

const timeoutMs = 10_000;
const maxAnswerBytes = 4096;
const turns = { atOnce: 4, maxWaiting: 1000, what: 'events wait for the webhook' };
const secretBytes = { min: 24, max: 64 };
const maxSecrets = 2;

/** Webhook of the configuration. */
export class Webhook implements Receiver {
  readonly name: string;
  readonly prefix = '';
  readonly attemptsAtMs = [0, 10_000, 60_000];
  readonly #config: WebhookConfig;
  readonly #services: Services;
  readonly #network: Network;
  readonly #agent: TrustingAgent;
  readonly #turns = new Semaphore(turns);

  constructor(services: Services, config: WebhookConfig, network: Network) {
    this.name = `webhook/${config.name}`;
    this.#config = config;
    this.#services = services;
    reportRefusals(services.metrics, 'webhooks', this.#turns);
    this.#network = network;
    this.#agent = new TrustingAgent({
      caFile: config.caFile,
      connections: turns.atOnce,
      connectTimeoutMs: timeoutMs,
      lookup: lookupOf((hostname) => this.#addressesOf(hostname)),
    });
  }

  wants({ type }: AccessEvent): boolean {
    return this.#config.events.includes(type);
  }

  send(event: AccessEvent, row: RequestRow, _delivery: DeliveredMails, signal: AbortSignal): Promise<void> {
    return this.#turns.run(() => this.#post(event, row, signal), signal);
  }

  stop(): Promise<void> {
    return this.#agent.stop();
  }

  async #post(event: AccessEvent, row: RequestRow, signal: AbortSignal): Promise<void> {
    const { url, secretFile } = this.#config;
    const host = hostOf(url);
    // A connection to an address asks no `lookup`.
    if (isIP(host) !== 0) this.#refuse(host, [host]);
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const body = this.#bodyOf(event, row);
    const id = `${row.uid}-${event.id}`;
    const time = String(Math.floor(this.#services.now().getTime() / 1000));
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'atrium',
      'webhook-id': id,
      'webhook-timestamp': time,
      'webhook-signature': signatures(await secretsOf(secretFile), `${id}.${time}.${body}`),
    };
    const answer = await this.#agent.request(url, { method: 'POST', headers, body, signal: bounded });
    await answer.body.dump({ limit: maxAnswerBytes, signal: bounded }).catch(() => undefined);
    if (answer.statusCode < 200 || answer.statusCode > 299) throw new NoticeError(`the webhook answered ${answer.statusCode}`);
  }

  #bodyOf({ type, time, decision }: AccessEvent, row: RequestRow): string {
    const { spec, told, name, uid, phase } = row;
    const { details } = this.#config;
    const { publicURL } = this.#services.config.server;
    const commented = <T extends { comment?: string | undefined }>({ comment, ...rest }: T) => ({
      ...rest,
      ...(details && comment !== undefined && { comment }),
    });
    const data = {
      request: { name, uid, ...(publicURL !== undefined && { url: requestURL(publicURL, name) }) },
      phase,
      ...(spec && { ...accessOf(row, spec), scope: spec.scope, durationSeconds: spec.durationSeconds, breakGlass: spec.breakGlass }),
      ...(told.begin !== undefined && { begin: told.begin }),
      ...(decision && { decision: commented({ by: decision.by, approve: decision.approve, comment: decision.comment }) }),
      ...(type === 'reviewed' && told.review && { review: commented({ by: told.review.by, comment: told.review.comment }) }),
      ...(type === 'ended' && { end: { reason: told.reason, by: told.endedBy } }),
      ...(details && { reason: spec?.reason, ticket: spec?.ticket }),
    };
    return JSON.stringify({ type: `access.${type}`, timestamp: time, data });
  }

  async #addressesOf(hostname: string): Promise<readonly string[]> {
    const addresses = await this.#network.resolve(hostname);
    this.#refuse(hostname, addresses);
    return addresses;
  }

  /** @throws NoticeError for a name or address that is link-local, or this machine without being named so */
  #refuse(host: string, addresses: readonly string[]): void {
    if (isLoopback(host)) return;
    if (addresses.length === 0 || addresses.some((address) => this.#network.isRefused(address)))
      throw new NoticeError('the host of the webhook has an address that is refused');
  }
}

/** Returns the address of the request's page in the console. */
export const requestURL = (publicURL: string, name?: string): string =>
  `${publicURL.replace(/\/{1,8}$/, '')}/requests${name === undefined ? '' : `/${name}`}`;

/** Reads the secrets for each attempt, because the file may be rotated. @throws NoticeError without a usable secret */
async function secretsOf(file: string): Promise<Buffer[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').map((line) => line.trim());
  const secrets = lines.filter(Boolean).map((line) => Buffer.from(/^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(line)?.[1] ?? '', 'base64'));
  const isUsable = ({ length }: Buffer) => length >= secretBytes.min && length <= secretBytes.max;
  if (secrets.length === 0 || secrets.length > maxSecrets || !secrets.every(isUsable))
    throw new NoticeError(`secretFile must have one or two lines whsec_… of ${secretBytes.min} to ${secretBytes.max} bytes in base64`);
  return secrets;
}

const signatures = (secrets: readonly Buffer[], content: string): string =>
  secrets.map((secret) => `v1,${createHmac('sha256', secret).update(content).digest('base64')}`).join(' ');
