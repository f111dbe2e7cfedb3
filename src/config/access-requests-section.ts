/** Settings of access requests. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { dnsLabel, isUnique, path } from './units.ts';

/** Types of the bodies that webhooks receive. */
export const accessEventTypes = ['requested', 'decided', 'granted', 'denied', 'ended', 'breakglass', 'reviewed'] as const;

const maxWebhooks = 5;

/** Returns the host name of a URL. An IPv6 address has no brackets then. */
export const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '');

/** Reports whether the host is this machine. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

function isReceiver(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  const host = hostOf(text);
  const isTrusted = protocol === 'https:' || (protocol === 'http:' && (isLoopback(host) || host.endsWith('.svc')));
  return isTrusted && `${username}${password}${hash}` === '';
}

const webhook = z.strictObject({
  name: dnsLabel().describe('Name in the log and in metrics.'),
  url: z
    .string()
    .max(2048)
    .refine(isReceiver, 'must be an https URL without user and fragment; http is for this machine and for *.svc')
    .meta({ pattern: '^https?://[^\\s/?#@]+(?:[/?][^\\s#]*)?$' })
    .describe('Receiver. Redirects are not followed, and no proxy is used.'),
  secretFile: path().describe('File with the secret `whsec_…`. Two lines are two secrets, which both sign. Read for each attempt.'),
  caFile: path().optional().describe('PEM bundle that verifies the receiver, beside the authorities of the system.'),
  events: z
    .array(z.enum(accessEventTypes))
    .min(1)
    .default([...accessEventTypes])
    .describe('Events that are sent. Default: all.'),
  details: z.boolean().default(false).describe('Send reasons, comments and tickets too.'),
});

export const accessRequestsSection = z.strictObject({
  pendingSeconds: z.number().int().min(300).max(1_209_600).default(86_400).describe('Seconds after which an undecided request lapses.'),
  keepDays: z.number().int().min(1).max(3650).default(30).describe('Days for which a request is stored after its end.'),
  maxOpen: z.number().int().min(1).max(100).default(10).describe('Maximum number of open requests of a user.'),
  mail: z.boolean().default(true).describe('Mails approvers and requesters. Requires `smtp` and `server.publicURL`.'),
  webhooks: z
    .array(webhook)
    .max(maxWebhooks)
    .refine((all) => isUnique(all.map(({ name }) => name)), 'must have different names')
    .default([])
    .describe('Receivers of events about access requests, signed by Standard Webhooks 1.0.'),
});

export type WebhookConfig = Readonly<z.output<typeof webhook>>;
